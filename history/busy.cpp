// I4: an acquire that was told "busy" had a reason: at some instant of the call one of its names
// may have been full, and the hold that the answer named may have been there.
//
// An answer that names no hold may also be because the name was kept for a waiter (semantics 13).
//
// A false "busy" breaks no promise of safety, so a small share is tolerated in runs with faults.
#include <algorithm>
#include <compare>
#include <optional>
#include <unordered_map>

#include "core/time_math.h"
#include "history/may_hold.h"
#include "history/permits_book.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

using Holds = std::unordered_map<Stamp, std::uint32_t>;

// Empty if the hold that the answer names may have been in the way, or if it is not known.
std::string false_witness(const Timeline& line, const Holds& holds, const Op& op) {
  const auto at = holds.find(op.stamp);
  if (at == holds.end()) return {};
  const Op& witness = line.ops[at->second];
  if (op.stamp == op.replaces) {
    return "was told that the hold is in its way that it itself takes the place of\n  " +
           line.tell(witness);
  }
  const std::span<const Item> set = line.set_of(witness);
  const bool has_name =
      std::any_of(set.begin(), set.end(), [&](const Item& item) { return item.name == op.name; });
  if (!has_name) {
    return "was told that a hold is in its way which does not have the name " +
           in_quotes(line.names[op.name]) + "\n  " + line.tell(witness);
  }
  if (line.may_be_there(at->second, {op.asked, op.returned})) return {};
  return "was told that a hold is in its way which was not there\n  " + line.tell(witness);
}

// The mode of the hold that `op` takes the place of, if that has the name and may have been there
// all the while. It is not in the way of `op`.
std::optional<Mode> own_mode(const Timeline& line, const Holds& holds, const Op& op,
                             std::uint32_t name) {
  const auto at = op.replaces ? holds.find(op.replaces) : holds.end();
  if (at == holds.end()) return {};
  const Op& own = line.ops[at->second];
  if (own.asked > op.asked || own.may_end < op.returned) return {};
  for (const Item& item : line.set_of(own)) {
    if (item.name == name) return item.mode;
  }
  return {};
}

// The acquires that may have stood in line for one name.
class Waiters {
 public:
  Waiters(const Timeline& line, const Rules& rules, std::uint32_t name) {
    // After a fault the store may have heard of the wait later than its caller ended it, and may
    // never learn of the end.
    const Duration late = line.had_trouble() ? rules.late : Duration::zero();
    const Duration lifetime = line.had_trouble() ? rules.waiter_lifetime : Duration::zero();
    for (const ItemRef& ref : line.asks_of[name]) {
      const Op& op = line.ops[ref.op];
      if (op.wait == Duration::zero()) continue;
      stays_.push_back({op.asked, {later(later(op.returned, late), lifetime), ref.op}, {}});
    }
    std::sort(stays_.begin(), stays_.end(),
              [](const Stay& a, const Stay& b) { return a.asked < b.asked; });
    for (std::size_t i = 1; i < stays_.size(); ++i) {
      const Stay& before = stays_[i - 1];
      Stay& stay = stays_[i];
      stay.second = std::max(before.second, std::min(before.last, stay.last));
      stay.last = std::max(before.last, stay.last);
    }
  }

  // Whether another one than `op` may have stood there at some instant of this time.
  [[nodiscard]] bool may_stand(std::uint32_t op, Interval during) const {
    const auto after =
        std::upper_bound(stays_.begin(), stays_.end(), during.end,
                         [](TimePoint time, const Stay& stay) { return time < stay.asked; });
    if (after == stays_.begin()) return false;
    const Stay& stay = *std::prev(after);
    const Last& end = stay.last.op == op ? stay.second : stay.last;
    return end.op != nobody && end.at >= during.begin;
  }

 private:
  struct Last {
    TimePoint at{};
    std::uint32_t op = nobody;
    auto operator<=>(const Last&) const = default;
  };
  struct Stay {
    TimePoint asked;
    // Of all that were asked for until then: who stood there last, and the last one but that.
    Last last;
    Last second;
  };
  std::vector<Stay> stays_;
};

}  // namespace

void check_busy(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts) {
  const PermitsBook book(line);
  std::vector<bool> explained(line.ops.size(), false);
  std::vector<bool> overlaps(line.ops.size(), false);
  Holds holds;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    if (line.ops[i].granted()) holds.emplace(line.ops[i].stamp, i);
  }
  for (std::uint32_t name = 0; name < line.names.size(); ++name) {
    const MayHold may(line, name);
    std::optional<Waiters> waiters;  // made when they are needed
    for (const ItemRef& ref : line.asks_of[name]) {
      const Op& op = line.ops[ref.op];
      const Item& item = line.items[ref.item];
      if (may.just_before(op.asked) > 0) overlaps[ref.op] = true;
      if (op.outcome != Op::Outcome::busy || explained[ref.op]) continue;
      std::uint32_t least = item.permits;
      if (!item.said) {
        // Of all permits that may have applied, the lowest explains it best.
        for (const std::uint32_t value :
             book.during(item.name, item.mode, {op.asked, op.returned}).values) {
          least = std::min(least, value);
        }
      }
      const Interval during{op.asked, op.returned};
      explained[ref.op] = may.can_block(item.mode, least, during, own_mode(line, holds, op, name));
      if (explained[ref.op] || op.stamp) continue;
      if (!waiters) waiters.emplace(line, rules, name);
      explained[ref.op] = waiters->may_stand(ref.op, during);
    }
  }
  counts.overlaps += static_cast<std::uint64_t>(std::count(overlaps.begin(), overlaps.end(), true));

  std::uint64_t busy = 0;
  std::vector<std::pair<std::uint32_t, std::string>> spurious;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (op.outcome != Op::Outcome::busy) continue;
    ++busy;
    std::string why = false_witness(line, holds, op);
    if (!explained[i]) why = "was told busy, and nobody can have been in its way";
    if (why.empty()) continue;
    ++counts.spurious_busy;
    if (spurious.size() < rules.most_told) spurious.emplace_back(i, std::move(why));
  }
  const double borne = line.had_trouble() ? rules.spurious_busy * static_cast<double>(busy) : 0;
  if (static_cast<double>(counts.spurious_busy) <= borne) return;
  for (std::uint64_t i = 0; i < counts.spurious_busy; ++i) {
    findings.add(Invariant::busy, [&] {
      return line.tell(line.ops[spurious[i].first]) + "\n  " + spurious[i].second;
    });
  }
}

}  // namespace lockset::history
