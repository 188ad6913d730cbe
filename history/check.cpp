#include "history/check.h"

#include <algorithm>

#include "history/timeline.h"

namespace lockset::history {
namespace {

void count(const Timeline& line, Counts& counts) {
  counts.operations = line.ops.size();
  std::vector<TimePoint> grants;
  TimePoint last = line.first;
  for (const Op& op : line.ops) {
    last = std::max(last, op.returned == TimePoint::max() ? op.asked : op.returned);
    switch (op.outcome) {
      case Op::Outcome::granted:
        grants.push_back(op.returned);
        break;
      case Op::Outcome::busy:
        ++counts.busy;
        break;
      case Op::Outcome::timeout:
        ++counts.timeouts;
        break;
      case Op::Outcome::none:
      case Op::Outcome::unknown:
        ++counts.unknown;
        break;
      case Op::Outcome::refused:
        ++counts.refused;
        break;
      case Op::Outcome::changed:
        ++counts.changed;
        break;
    }
  }
  for (const Op& op : line.ops) {
    if (op.cut_off) ++counts.cut_off;
    if (!op.replaces) continue;
    const bool upgrade = line.set_of(op).front().mode == Mode::write;
    if (op.granted()) ++(upgrade ? counts.upgrades : counts.downgrades);
    if (op.outcome == Op::Outcome::busy) ++counts.unconverted;
  }
  counts.grants = grants.size();
  counts.lost = line.losses.all.size();
  counts.kills = line.kills;
  counts.stops = line.stops;
  counts.faults = line.faults.size();
  counts.restores = line.restores.size();
  counts.snapshots = line.snapshots.size();
  counts.uses = line.uses.size();
  counts.ends = line.ends.size();

  std::sort(grants.begin(), grants.end());
  grants.push_back(last);
  TimePoint before = line.first;
  for (const TimePoint grant : grants) {
    counts.longest_without_grant = std::max(counts.longest_without_grant, grant - before);
    before = grant;
  }
}

void judge(const Timeline& line, const Rules& rules, Report& report) {
  const auto least = [&](std::uint64_t have, std::uint64_t rule, std::uint64_t own,
                         const char* what) {
    const std::uint64_t want = std::max(rule, own);
    if (have >= want) return;
    report.vacuous.push_back("only " + std::to_string(have) + " " + what + ", expected " +
                             std::to_string(want) + " at least");
  };
  const Counts& counts = report.counts;
  least(counts.grants, rules.least.grants, line.expect.grants, "grants");
  least(counts.overlaps, rules.least.overlaps, line.expect.overlaps, "overlaps");
  least(counts.busy, rules.least.busy, line.expect.busy, "busy answers");
  least(counts.wakeups, rules.least.wakeups, line.expect.wakeups, "wake-ups");
  least(counts.ends, rules.least.ends, line.expect.ends, "looks at the end");
  least(counts.kills + counts.stops + counts.faults, rules.least.faults, line.expect.faults,
        "faults");
}

}  // namespace

Result<Report> check(const History& history, const Rules& rules) {
  const Result<Timeline> made = make_timeline(history, rules);
  if (!made) return made.error();
  const Timeline& line = *made;
  Report report;
  Findings findings(rules, report);
  count(line, report.counts);
  if (rules.leases_last) check_exclusion(line, rules, findings);
  check_demotion(line, rules, findings);
  check_fencing(line, rules, findings);
  check_atomic_sets(line, rules, findings);
  check_busy(line, rules, findings, report.counts);
  check_lease(line, rules, findings);
  check_resource(line, rules, findings);
  check_liveness(line, rules, findings);
  check_wakeups(line, rules, findings, report.counts);
  check_overtaking(line, rules, findings, report.counts);
  check_leaks(line, rules, findings);
  check_permits(line, rules, findings);
  check_observing(line, rules, findings, report.counts);
  check_changes(line, rules, findings, report.counts);
  judge(line, rules, report);
  return report;
}

}  // namespace lockset::history
