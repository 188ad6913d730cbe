#include "lockset/space_config.h"

#include <algorithm>
#include <string>

namespace lockset {

Permits SpaceConfig::permits_of(std::string_view name) const {
  Permits result;
  if (permits.empty()) return result;
  const auto apply = [&](std::string_view key) {
    const auto entry = permits.find(key);
    if (entry == permits.end()) return;
    result.read = entry->second.read.value_or(result.read);
    result.write = entry->second.write.value_or(result.write);
  };
  // The defaults apply to people's locks, not to Lockset's own.
  if (!name.starts_with('@')) apply(default_permits_name);
  apply(name);
  return result;
}

namespace {

Status check(const SetPermits& change) {
  if (Status status = check_name(change.name); !status) return status;
  if (change.name.starts_with('@')) {
    return Error{Errc::invalid, "the name " + in_quotes(change.name) +
                                    " is reserved: its permits can't be changed"};
  }
  if (change.permits && (*change.permits < 1 || *change.permits > max_permits)) {
    return Error{Errc::invalid, "permits of " + in_quotes(change.name) + " must be 1 to " +
                                    std::to_string(max_permits) + ", not " +
                                    std::to_string(*change.permits)};
  }
  return {};
}

Status check(const SetMaxLease& change) {
  constexpr Duration least = std::chrono::seconds(1);
  constexpr Duration most = std::chrono::hours(24 * 30);
  if (change.max_lease < least || change.max_lease > most) {
    return Error{Errc::invalid, "the longest lease of a space must be 1s to 30d, not " +
                                    format_duration(change.max_lease)};
  }
  return {};
}

Status check(const SetMaxOvertakes& change) {
  constexpr std::uint32_t most = 1'000'000;
  if (change.max_overtakes > most && change.max_overtakes != unlimited_overtakes) {
    return Error{Errc::invalid, "a waiter can be overtaken 0 to " + std::to_string(most) +
                                    " times, or without a bound, not " +
                                    std::to_string(change.max_overtakes) + " times"};
  }
  return {};
}

Status check(const SetMigrationPhase& change) {
  if (change.phase < 0) return Error{Errc::invalid, "a migration phase can't be negative"};
  return {};
}

Status check(const RaiseStampBase& change) {
  if (change.at_least.value < 0) return Error{Errc::invalid, "a stamp base can't be negative"};
  return {};
}

void apply(SpaceConfig& config, const SetPermits& change) {
  SpaceConfig::Entry& entry = config.permits[change.name];
  (change.mode == Mode::read ? entry.read : entry.write) = change.permits;
  if (entry == SpaceConfig::Entry{}) config.permits.erase(change.name);
}
void apply(SpaceConfig& config, const SetMaxLease& change) { config.max_lease = change.max_lease; }
void apply(SpaceConfig& config, const SetMaxOvertakes& change) {
  config.max_overtakes = change.max_overtakes;
}
void apply(SpaceConfig& config, const SetMigrationPhase& change) {
  config.migration_phase = change.phase;
}
void apply(SpaceConfig& config, const RaiseStampBase& change) {
  config.stamp_base = std::max(config.stamp_base, change.at_least);
}

}  // namespace

Status check_change(const ConfigChange& change) {
  return std::visit([](const auto& one) { return check(one); }, change);
}

SpaceConfig changed(SpaceConfig config, const ConfigChange& change) {
  const auto* const phase = std::get_if<SetMigrationPhase>(&change);
  if (phase != nullptr && phase->only_at_version.value_or(config.version) != config.version) {
    return config;
  }
  std::visit([&](const auto& one) { apply(config, one); }, change);
  ++config.version;
  return config;
}

}  // namespace lockset
