// I7: waiters are woken. A waiter was woken late by the time for which its set was certainly free
// before the grant.
#include <algorithm>

#include "history/may_hold.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

// If permits change meanwhile, it is not known from when on a set was free.
bool permits_changed(const Timeline& line, std::uint32_t name, Interval during) {
  const auto [from, to] = std::equal_range(
      line.permits.begin(), line.permits.end(), PermitsChange{name, {}, 1, 1},
      [](const PermitsChange& a, const PermitsChange& b) { return a.name < b.name; });
  return std::any_of(from, to, [&](const PermitsChange& each) {
    return each.during.begin <= during.end && each.during.end >= during.begin;
  });
}

}  // namespace

void check_wakeups(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts) {
  std::vector<TimePoint> free_since(line.ops.size());
  const auto waited = [&](const Op& op) { return op.granted() && op.wait > Duration::zero(); };
  for (std::uint32_t name = 0; name < line.names.size(); ++name) {
    const auto& asks = line.asks_of[name];
    if (std::none_of(asks.begin(), asks.end(),
                     [&](const ItemRef& ref) { return waited(line.ops[ref.op]); })) {
      continue;
    }
    const MayHold may(line, name, MayHold::Since::granted);
    for (const ItemRef& ref : asks) {
      const Op& op = line.ops[ref.op];
      if (!waited(op)) continue;
      const Item& item = line.items[ref.item];
      const Interval during{op.asked, op.returned};
      free_since[ref.op] =
          std::max(free_since[ref.op], permits_changed(line, name, during)
                                           ? TimePoint::max()
                                           : may.free_since(item.mode, item.permits, during));
    }
  }

  std::vector<std::uint32_t> late;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (!waited(op) || free_since[i] <= op.asked || free_since[i] == TimePoint::max()) continue;
    ++counts.wakeups;
    if (op.returned - free_since[i] > rules.wakeup) late.push_back(i);
  }
  counts.late_wakeups = late.size();
  const bool judged = std::max(rules.least.wakeups, line.expect.wakeups) > 0 && !line.had_trouble();
  const double borne = rules.late_wakeups * static_cast<double>(counts.wakeups);
  if (!judged || static_cast<double>(late.size()) <= borne) return;
  for (const std::uint32_t i : late) {
    findings.add(Invariant::liveness, [&] {
      return "was woken late: what it waited for was free from " + line.at(free_since[i]) +
             " on\n  " + line.tell(line.ops[i]);
    });
  }
}

}  // namespace lockset::history
