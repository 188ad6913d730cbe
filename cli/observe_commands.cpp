// lockset observe and validate: looking at names without holding them.
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/calendar.h"
#include "cli/command.h"
#include "cli/observation_text.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "lockset/lock_set.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

// As `lockset run`, these wait for a store that does not answer yet: they stand in the same script.
Locks open_shared_space(const Settings& settings) {
  Options options = options_of(settings, "lockset");
  options.open_patience = options.store_patience;
  Result<Locks> locks = open(settings.text(Opt::url), std::move(options));
  if (!locks) fail_open(locks.error(), settings);
  if (!locks->traits().shared_between_processes) {
    throw Failure(exit_config, redact_url(settings.text(Opt::url)) +
                                   " is this process's own, so it sees no writes of others: name a "
                                   "store that processes share, such as sqlite:");
  }
  return std::move(*locks);
}

// A mistake in a name is told without asking the store.
std::vector<std::string> checked(const std::vector<std::string>& names) {
  std::vector<LockRequest> items;
  for (const std::string& name : names) items.push_back(read(name));
  or_fail(LockSet::make(std::move(items)));
  return names;
}

std::string line_of(const Change& change) {
  std::string text = in_quotes(change.name);
  const bool known = !change.label.empty() || change.when;
  if (change.was_being_written) {
    text += " was being written when it was observed";
    if (known) text += "; it was written";
  } else {
    text += known ? " was written" : " may have been written: the store remembers it only since";
  }
  if (!change.label.empty()) text += " by " + harmless(change.label) + ",";
  if (known || !change.was_being_written) text += " stamp " + std::to_string(change.stamp.value);
  if (change.when) text += ", " + local_time(*change.when);
  return text + "\n";
}

std::string json_of(const std::vector<Change>& changes) {
  using nlohmann::ordered_json;
  ordered_json list = ordered_json::array();
  for (const Change& change : changes) {
    ordered_json label;  // null: not known
    ordered_json when;
    if (!change.label.empty()) label = change.label;
    if (change.when) when = utc_time(*change.when);
    list.push_back({{"name", change.name},
                    {"stamp", change.stamp.value},
                    {"label", label},
                    {"when", when},
                    {"was_being_written", change.was_being_written}});
  }
  const ordered_json all{{"unchanged", changes.empty()}, {"changes", list}};
  // The label of another application may be any bytes.
  return all.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

int observe_command(const Invocation& invocation) {
  check_operands(invocation, 1, std::numeric_limits<std::size_t>::max(), "observe NAME...");
  const std::vector<std::string> names = checked(invocation.line.operands);
  Locks locks = open_shared_space(invocation.settings);
  print(or_fail(locks.observe(names)).to_string() + "\n");
  return exit_ok;
}

int validate_command(const Invocation& invocation) {
  check_operands(invocation, 1, 1, "validate OBSERVATION");
  const Observation seen = observation_of(invocation.line.operands.front(), "OBSERVATION");
  Locks locks = open_shared_space(invocation.settings);
  const std::vector<Change> changes = or_fail(locks.changes_since(seen));
  if (invocation.settings.has(Opt::json)) {
    print(json_of(changes));
  } else {
    std::string lines;
    for (const Change& change : changes) lines += line_of(change);
    print(lines);
  }
  return changes.empty() ? exit_ok : exit_changed;
}

}  // namespace lockset::cli
