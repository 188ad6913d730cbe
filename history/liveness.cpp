// I7: an acquire returns when its wait is over, whatever happens; and after the last fault nobody
// waits long for a set that is certainly free.
#include <algorithm>
#include <unordered_map>

#include "core/time_math.h"
#include "history/may_hold.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

void check_returns(const Timeline& line, const Rules& rules, Findings& findings) {
  for (const Op& op : line.ops) {
    if (op.wait == Duration::max()) continue;
    const TimePoint over = later(op.asked, op.wait);
    TimePoint deadline = line.put_off(op.process, over, rules.reply);
    const Process& process = line.processes[op.process];
    if (op.returned <= deadline) continue;
    if (op.returned == TimePoint::max() &&
        (process.last < deadline || (process.killed && *process.killed < deadline))) {
      continue;
    }
    findings.add(Invariant::liveness, [&] {
      return "did not return by " + line.at(deadline) + ", though its wait was over at " +
             line.at(over) + "\n  " + line.tell(op);
    });
  }
}

// The longest part of `during` that no interval of `blocked` covers. Sorts `blocked`.
Interval longest_gap(Interval during, std::vector<Interval>& blocked) {
  std::sort(blocked.begin(), blocked.end(),
            [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  blocked.push_back({during.end, during.end});
  Interval longest{during.begin, during.begin};
  TimePoint covered = during.begin;
  for (const Interval& each : blocked) {
    if (each.begin - covered > longest.end - longest.begin) longest = {covered, each.begin};
    covered = std::max(covered, each.end);
  }
  return longest;
}

void check_free(const Timeline& line, const Rules& rules, Findings& findings) {
  const TimePoint calm = line.last_trouble();
  if (calm == TimePoint::max()) return;
  std::vector<std::uint32_t> waits;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    const TimePoint until = std::min(op.returned, line.processes[op.process].last);
    if (op.wait > Duration::zero() && until - std::max(op.asked, calm) > rules.idle) {
      waits.push_back(i);
    }
  }
  if (waits.empty()) return;

  std::unordered_map<std::uint32_t, MayHold> may;
  for (const std::uint32_t index : waits) {
    for (const Item& item : line.set_of(line.ops[index])) {
      if (!may.contains(item.name)) {
        may.emplace(item.name, MayHold(line, item.name, MayHold::Since::granted));
      }
    }
  }
  for (const std::uint32_t index : waits) {
    const Op& op = line.ops[index];
    const TimePoint until = std::min(op.returned, line.processes[op.process].last);
    const Interval during{std::max(op.asked, calm), until};
    std::vector<Interval> blocked;
    for (const Item& item : line.set_of(op)) {
      may.at(item.name).add_blocked(item.mode, item.permits, during, blocked);
    }
    const Interval gap = longest_gap(during, blocked);
    if (gap.end - gap.begin <= rules.idle) continue;
    findings.add(Invariant::liveness, [&] {
      return "waited for what was free from " + line.at(gap.begin) + " to " + line.at(gap.end) +
             "\n  " + line.tell(op);
    });
  }
}

// A process that keeps asking and gets only errors has not recovered from the trouble. A timeout
// counts neither way. A cancelled call looks like an error, so a few errors prove nothing.
constexpr std::size_t least_errors = 5;
void check_recovery(const Timeline& line, const Rules& rules, Findings& findings) {
  const TimePoint calm = line.last_trouble();
  std::vector<std::vector<std::uint32_t>> calls(line.processes.size());
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (rules.refused.contains(line.processes[op.process].name)) continue;
    if (op.returned != TimePoint::max()) calls[op.process].push_back(i);
  }
  for (std::vector<std::uint32_t>& of_one : calls) {
    std::sort(of_one.begin(), of_one.end(), [&](std::uint32_t a, std::uint32_t b) {
      return line.ops[a].returned < line.ops[b].returned;
    });
    const Op* first = nullptr;  // of the errors since the last other answer
    std::size_t errors = 0;
    for (const std::uint32_t i : of_one) {
      const Op& op = line.ops[i];
      const bool answered =
          op.granted() || op.outcome == Op::Outcome::busy || op.outcome == Op::Outcome::changed;
      if (answered) first = nullptr;
      if (op.outcome != Op::Outcome::refused && op.outcome != Op::Outcome::unknown) continue;
      if (first == nullptr) errors = 0;
      if (first == nullptr) first = &op;
      const TimePoint outage = line.put_off(op.process, first->returned, rules.outage);
      const TimePoint recovered =
          line.put_off(op.process, std::max(first->returned, calm), rules.recovery);
      if (++errors < least_errors || op.asked <= std::min(outage, recovered)) continue;
      findings.add(Invariant::liveness, [&] {
        return line.processes[op.process].name + " was told nothing but errors from " +
               line.at(first->returned) + " to " + line.at(op.returned) +
               (op.asked > recovered ? ", though all trouble was over at " + line.at(calm) : "") +
               "\n  " + line.tell(*first) + "\n  " + line.tell(op);
      });
      break;
    }
  }
}

}  // namespace

void check_liveness(const Timeline& line, const Rules& rules, Findings& findings) {
  check_returns(line, rules, findings);
  check_free(line, rules, findings);
  check_recovery(line, rules, findings);
}

}  // namespace lockset::history
