#include "migration/in_the_way.h"

#include <algorithm>

#include "backends/migrate/hold_tag.h"
#include "core/identity.h"
#include "migration/store.h"

namespace lockset::migrate {
namespace {

std::string names_of(const std::vector<LockRequest>& items) {
  if (items.empty()) return "a hold";
  std::string text = in_quotes(items.front().name);
  if (items.size() > 1) text += " and " + std::to_string(items.size() - 1) + " more";
  return text + " (" + std::string(to_string(items.front().mode)) + ")";
}

std::string by_whom(const Owner& owner) {
  return "by " + clean_label(owner.label) + " (application " + in_quotes(owner.app) + ")";
}

}  // namespace

bool is_bookkeeping(const std::vector<LockRequest>& items) {
  return std::ranges::all_of(items, [](const LockRequest& item) {
    return item.name.starts_with(steering_prefix) || item.name.starts_with(report_prefix);
  });
}

bool stands_alone(const Owner& owner, std::uint32_t migration) {
  return !tag_of(owner.instance, migration);
}

bool is_older_than_dual_new(const Owner& owner, std::uint32_t migration) {
  const std::optional<HoldTag> tag = tag_of(owner.instance, migration);
  return !tag || tag->phase < MigrationPhase::dual_new;
}

bool stands_in_new_alone(const Owner& owner, std::uint32_t migration) {
  const std::optional<HoldTag> tag = tag_of(owner.instance, migration);
  return !tag || tag->phase == MigrationPhase::new_only;
}

std::string described(const HoldInfo& hold) {
  return names_of(hold.items) + ", stamp " + std::to_string(hold.stamp.value) + ", " +
         by_whom(hold.owner) +
         (hold.remaining
              ? ", lease ends in " +
                    format_duration(std::chrono::ceil<std::chrono::seconds>(*hold.remaining)) +
                    " unless renewed,"
              : ", for ever,");
}

std::string described(const WaiterInfo& waiter) {
  return names_of(waiter.items) + ", " + by_whom(waiter.owner) + ",";
}

std::optional<Obstacle> quarantine_in_the_way(const Inspection& seen, std::string_view store) {
  if (!seen.quarantine) return {};
  return Obstacle{{std::string(store) +
                       " has lost its state, or may have: wait until the holders have registered "
                       "their holds again (" +
                       format_duration(std::chrono::ceil<std::chrono::seconds>(*seen.quarantine)) +
                       ")",
                   true}};
}

}  // namespace lockset::migrate
