#include "tests/chaos/summary.h"

#include <algorithm>
#include <cstdio>

#include "tests/chaos/progress.h"
#include "tools/history_tables.h"
#include "tools/table.h"

namespace lockset::chaos {
namespace {

std::string rate(std::uint64_t part, std::uint64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4f %%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

bool judged(const Outcome& outcome, history::Invariant invariant) {
  return std::find(outcome.not_judged.begin(), outcome.not_judged.end(), invariant) ==
         outcome.not_judged.end();
}

std::string conditions(const Options& options, const Outcome& outcome) {
  tools::Table table({"RUN", ""});
  table.add({"backend", outcome.store});
  table.add({"server", outcome.version});
  table.add({"time", readable(outcome.lasted) + (outcome.interrupted ? ", interrupted" : "")});
  table.add({"seed", std::to_string(options.seed)});
  table.add({"processes", std::to_string(options.processes) + ", " +
                              std::to_string(options.threads) + " threads each"});
  table.add({"names", std::to_string(options.names)});
  table.add(
      {"lease", std::to_string(
                    std::chrono::duration_cast<std::chrono::milliseconds>(outcome.lease).count()) +
                    " ms"});
  return table.text();
}

std::string faults(const Outcome& outcome) {
  tools::Table table({"FAULT", "TIMES", "HITS"});
  table.add({"kill", std::to_string(outcome.kills), ""});
  table.add({"stop", std::to_string(outcome.stops), ""});
  table.add({"fork", std::to_string(outcome.forks), ""});
  for (const auto& [name, given] : outcome.faults) {
    table.add({name, std::to_string(given.times), given.hits ? std::to_string(*given.hits) : ""});
  }
  return table.text();
}

}  // namespace

bool kept(const Outcome& outcome, const history::Report& report) {
  if (!outcome.troubles.empty() || !report.vacuous.empty()) return false;
  for (std::size_t i = 0; i < history::invariant_count; ++i) {
    if (report.found[i] != 0 && judged(outcome, static_cast<history::Invariant>(i))) return false;
  }
  return true;
}

std::string summary(const Options& options, const Outcome& outcome, const history::Report& report,
                    const std::string& more) {
  std::string text;
  for (const history::Violation& each : report.violations) {
    text +=
        std::string(to_string(each.invariant)) +
        (judged(outcome, each.invariant) ? " is broken: " : " is broken, which it may be here: ") +
        each.story + "\n\n";
  }
  for (const std::string& each : outcome.troubles) text += "Trouble: " + each + "\n\n";
  text +=
      conditions(options, outcome) + "\n" + tools::counts_table(report.counts) +
      "busy without reason, of all busy: " + rate(report.counts.spurious_busy, report.counts.busy) +
      "\n\n" + faults(outcome) + "\n" + (more.empty() ? "" : more + "\n") +
      tools::verdict_table(report);
  if (options.clock_forward()) {
    text += "\nClients noticed a step of the clock " + std::to_string(outcome.steps_noticed) +
            " times\n";
  }
  for (const std::string& why : report.vacuous) text += "Shows too little: " + why + "\n";
  text += "\nTo repeat it: " + options.command() + "\n";
  return text;
}

}  // namespace lockset::chaos
