// lockset status
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/calendar.h"
#include "cli/command.h"
#include "cli/open_space.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Rounded to seconds, but never "0s" for a hold that still exists.
std::string left(const std::optional<Duration>& remaining) {
  if (!remaining) return "never";
  return format_duration(std::chrono::ceil<std::chrono::seconds>(*remaining));
}

InspectQuery query_of(const Invocation& invocation) {
  check_operands(invocation, 0, 1, "status [NAME] [--prefix TEXT] [--json]");
  const auto& operands = invocation.line.operands;
  const bool prefix = invocation.settings.has(Opt::prefix);
  if (!operands.empty() && prefix) {
    throw Failure(exit_usage, "NAME and --prefix exclude each other; give one of them");
  }
  if (prefix) return {InspectQuery::Match::prefix, invocation.settings.text(Opt::prefix)};
  if (operands.empty()) return {};
  or_fail(check_name(operands.front()));
  return {InspectQuery::Match::name, operands.front()};
}

std::string quarantine_of(const Inspection& inspection) {
  if (!inspection.quarantine) return {};
  return "quarantine: the store lost its state or may have; no new grants for another " +
         left(inspection.quarantine) + "\n";
}

std::string table_of(const Inspection& inspection) {
  const std::string quarantine = quarantine_of(inspection);
  if (inspection.holds.empty() && inspection.waiters.empty()) {
    return quarantine + "nothing is held\n";
  }
  Table table({"NAME", "MODE", "STAMP", "SINCE", "ENDS IN", "APPLICATION", "LABEL"});
  for (const HoldInfo& hold : inspection.holds) {
    for (const LockRequest& item : hold.items) {
      table.add({shown(item.name), std::string(to_string(item.mode)),
                 std::to_string(hold.stamp.value), local_time(hold.since), left(hold.remaining),
                 shown(hold.owner.app), harmless(hold.owner.label)});
    }
  }
  for (const WaiterInfo& waiter : inspection.waiters) {
    for (const LockRequest& item : waiter.items) {
      table.add({shown(item.name), std::string(to_string(item.mode)), "waits",
                 local_time(waiter.since), "-", shown(waiter.owner.app),
                 harmless(waiter.owner.label)});
    }
  }
  return quarantine + table.text();
}

using nlohmann::ordered_json;

ordered_json json_of(const std::vector<LockRequest>& items) {
  ordered_json result = ordered_json::array();
  for (const LockRequest& item : items) {
    result.push_back({{"name", item.name}, {"mode", to_string(item.mode)}});
  }
  return result;
}

ordered_json json_of(const Owner& owner) {
  return {{"app", owner.app},
          {"instance", owner.instance},
          {"epoch", owner.epoch},
          {"label", owner.label}};
}

std::string json_of(const Inspection& inspection) {
  ordered_json holds = ordered_json::array();
  for (const HoldInfo& hold : inspection.holds) {
    ordered_json remaining;  // null: the lease never ends
    if (hold.remaining) {
      remaining = std::chrono::floor<std::chrono::milliseconds>(*hold.remaining).count();
    }
    holds.push_back({{"stamp", hold.stamp.value},
                     {"items", json_of(hold.items)},
                     {"owner", json_of(hold.owner)},
                     {"since", utc_time(hold.since)},
                     {"remaining_ms", remaining}});
  }
  ordered_json waiters = ordered_json::array();
  for (const WaiterInfo& waiter : inspection.waiters) {
    waiters.push_back({{"items", json_of(waiter.items)},
                       {"owner", json_of(waiter.owner)},
                       {"since", utc_time(waiter.since)}});
  }
  ordered_json all{{"holds", holds}, {"waiters", waiters}};
  if (inspection.quarantine) {
    all["quarantine_ms"] =
        std::chrono::ceil<std::chrono::milliseconds>(*inspection.quarantine).count();
  }
  // The label of another application may be any bytes.
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int status_command(const Invocation& invocation) {
  const InspectQuery query = query_of(invocation);
  Locks locks = open_space(invocation.settings);
  const Inspection inspection = or_fail(locks.inspect(query));
  const std::string text =
      invocation.settings.has(Opt::json) ? json_of(inspection) : table_of(inspection);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exit_ok;
}

}  // namespace lockset::cli
