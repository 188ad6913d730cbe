// lockset status
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/calendar.h"
#include "cli/command.h"
#include "cli/open_space.h"
#include "cli/terminal_width.h"
#include "cli/watch.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Never "0s" for a hold that still exists.
std::string left(const std::optional<Duration>& remaining) {
  return remaining ? human_duration(*remaining) : "never";
}

// The clocks of this host and of the store may differ.
Duration age_of(SystemTime since) {
  const auto age = std::chrono::system_clock::now() - since;
  return std::max(Duration::zero(), std::chrono::duration_cast<Duration>(age));
}

// "3 holds, the oldest for 3m48s"
template <class Infos>
std::string count_of(const Infos& sorted, const std::string& what, const std::string& the_most) {
  if (sorted.empty()) return "no " + what + "s";
  return std::to_string(sorted.size()) + " " + what + (sorted.size() == 1 ? "" : "s") + ", " +
         the_most + " for " + human_duration(age_of(sorted.front().since));
}

// The oldest first, and without those that are not older than asked.
void arrange(Inspection& inspection, const std::optional<Duration>& older_than) {
  const auto arrange = [&](auto& infos) {
    if (older_than)
      std::erase_if(infos, [&](auto& each) { return age_of(each.since) <= *older_than; });
    std::stable_sort(infos.begin(), infos.end(),
                     [](const auto& a, const auto& b) { return a.since < b.since; });
  };
  arrange(inspection.holds);
  arrange(inspection.waiters);
}

InspectQuery query_of(const Invocation& invocation) {
  check_operands(invocation, 0, 1,
                 "status [NAME] [--prefix TEXT] [--older-than D] [--watch] [--json]");
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

// The state of the store, without its holds.
std::string state_of(const Inspection& inspection) {
  const std::string server = inspection.server.empty() ? "" : "server: " + inspection.server + "\n";
  if (!inspection.quarantine) return server;
  return server + "quarantine: the store lost its state or may have; no new grants for another " +
         left(inspection.quarantine) + "\n";
}

std::string table_of(const Inspection& inspection, bool only_older) {
  const std::string state = state_of(inspection);
  if (inspection.holds.empty() && inspection.waiters.empty()) {
    return state + (only_older ? "nothing is older\n" : "nothing is held\n");
  }
  Table table({"NAME", "MODE", "STAMP", "SINCE", "AGE", "ENDS IN", "APPLICATION", "LABEL"});
  for (const HoldInfo& hold : inspection.holds) {
    for (const LockRequest& item : hold.items) {
      table.add({shown(item.name), std::string(to_string(item.mode)),
                 std::to_string(hold.stamp.value), local_time(hold.since),
                 human_duration(age_of(hold.since)), left(hold.remaining), shown(hold.owner.app),
                 harmless(hold.owner.label)});
    }
  }
  for (const WaiterInfo& waiter : inspection.waiters) {
    for (const LockRequest& item : waiter.items) {
      table.add({shown(item.name), std::string(to_string(item.mode)), "waits",
                 local_time(waiter.since), human_duration(age_of(waiter.since)), "-",
                 shown(waiter.owner.app), harmless(waiter.owner.label)});
    }
  }
  // Each line is one line on a terminal; a program that reads the table gets all of it.
  if (const auto width = terminal_width(STDOUT_FILENO)) table.fit(*width, {"SINCE", "APPLICATION"});
  return state + table.text() + count_of(inspection.holds, "hold", "the oldest") + "; " +
         count_of(inspection.waiters, "waiter", "the longest") + "\n";
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
  if (!inspection.server.empty()) all["server"] = inspection.server;
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
  const Settings& settings = invocation.settings;
  const bool json = settings.has(Opt::json);
  std::optional<Duration> older_than;
  if (settings.has(Opt::older_than)) older_than = settings.duration(Opt::older_than);
  Watch watch(settings.has(Opt::show_again), json);
  Locks locks = open_space(settings);
  bool found = false;
  const int code = watch.show([&]() -> Result<std::string> {
    Result<Inspection> inspection = locks.inspect(query);
    if (!inspection) return inspection.error();
    arrange(*inspection, older_than);
    found = !inspection->holds.empty() || !inspection->waiters.empty();
    return json ? json_of(*inspection) : table_of(*inspection, older_than.has_value());
  });
  return code == exit_ok && older_than && found ? exit_older : code;
}

}  // namespace lockset::cli
