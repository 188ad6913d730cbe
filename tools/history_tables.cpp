#include "tools/history_tables.h"

#include "tools/table.h"

namespace lockset::tools {
namespace {

std::string whole_milliseconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " ms";
}

}  // namespace

std::string counts_table(const history::Counts& counts) {
  Table table({"COUNTED", ""});
  const auto add = [&](const char* what, std::uint64_t count) {
    table.add({what, std::to_string(count)});
  };
  add("operations", counts.operations);
  add("grants", counts.grants);
  add("overlaps", counts.overlaps);
  add("busy", counts.busy);
  add("busy without reason", counts.spurious_busy);
  add("timeouts", counts.timeouts);
  add("unknown", counts.unknown);
  add("refused", counts.refused);
  add("lost", counts.lost);
  add("cut off, perhaps", counts.cut_off);
  add("kills", counts.kills);
  add("stops", counts.stops);
  add("other faults", counts.faults);
  add("restores", counts.restores);
  add("snapshots", counts.snapshots);
  add("uses of the resource", counts.uses);
  add("wake-ups", counts.wakeups);
  add("late wake-ups", counts.late_wakeups);
  add("waits judged for overtaking", counts.waits);
  add("overtaken too often", counts.overtaken);
  add("observations", counts.observations);
  add("validated: unchanged", counts.unchanged);
  add("changed", counts.changed);
  add("changed without reason", counts.spurious_changes);
  add("grants on a condition", counts.conditional);
  add("upgrades", counts.upgrades);
  add("downgrades", counts.downgrades);
  add("conversions refused", counts.unconverted);
  table.add({"longest time without a grant", whole_milliseconds(counts.longest_without_grant)});
  return table.text();
}

std::string verdict_table(const history::Report& report) {
  Table table({"INVARIANT", "VIOLATIONS"});
  for (std::size_t i = 0; i < history::invariant_count; ++i) {
    table.add({std::string(to_string(static_cast<history::Invariant>(i))),
               report.found[i] == 0 ? "none" : std::to_string(report.found[i])});
  }
  return table.text();
}

}  // namespace lockset::tools
