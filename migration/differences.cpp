#include "migration/differences.h"

#include <set>

namespace lockset::migrate {
namespace {

constexpr std::size_t most_lines = 20;

using Count = std::optional<std::uint32_t>;

Count count_of(const SpaceConfig& config, const std::string& name, Mode mode) {
  const auto entry = config.permits.find(name);
  if (entry == config.permits.end()) return {};
  return mode == Mode::read ? entry->second.read : entry->second.write;
}

// Calls visit(name, mode, count in the old store, count in the new one) for each that differs.
template <class Visit>
void for_each_difference(const SpaceConfig& old_config, const SpaceConfig& new_config,
                         const Visit& visit) {
  std::set<std::string> names;
  for (const auto& [name, entry] : old_config.permits) names.insert(name);
  for (const auto& [name, entry] : new_config.permits) names.insert(name);
  for (const std::string& name : names) {
    for (const Mode mode : {Mode::read, Mode::write}) {
      const Count of_old = count_of(old_config, name, mode);
      const Count of_new = count_of(new_config, name, mode);
      if (of_old != of_new) visit(name, mode, of_old, of_new);
    }
  }
}

std::string text_of(Count count) { return count ? std::to_string(*count) : "the default"; }

}  // namespace

std::vector<ConfigChange> changes_to_copy(const SpaceConfig& old_config,
                                          const SpaceConfig& new_config) {
  std::vector<ConfigChange> changes;
  for_each_difference(old_config, new_config,
                      [&](const std::string& name, Mode mode, Count of_old, Count) {
                        changes.emplace_back(SetPermits{name, mode, of_old});
                      });
  if (old_config.max_lease != new_config.max_lease) {
    changes.emplace_back(SetMaxLease{old_config.max_lease});
  }
  return changes;
}

std::vector<std::string> permit_differences(const SpaceConfig& old_config,
                                            const SpaceConfig& new_config) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for_each_difference(old_config, new_config,
                      [&](const std::string& name, Mode mode, Count of_old, Count of_new) {
                        if (lines.size() == most_lines) {
                          ++more;
                          return;
                        }
                        lines.push_back(in_quotes(name) + " (" + std::string(to_string(mode)) +
                                        "): " + text_of(of_old) + " in the old store, " +
                                        text_of(of_new) + " in the new one");
                      });
  if (more > 0) lines.push_back("and " + std::to_string(more) + " more");
  return lines;
}

}  // namespace lockset::migrate
