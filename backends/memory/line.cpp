#include "backends/memory/line.h"

#include <algorithm>

#include "backends/line_times.h"
#include "core/time_math.h"

namespace lockset {
namespace {

const LockRequest* find(const LockSet& set, std::string_view name) {
  const auto items = set.items();
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const LockRequest& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

bool meet(const LockSet& one, const LockSet& other) {
  const auto items = other.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const LockRequest& item) { return find(one, item.name) != nullptr; });
}

}  // namespace

std::uint64_t Line::stand(std::uint64_t waiter, const LockSet& set, const Owner& owner,
                          TimePoint now) {
  const auto found = waiters_.find(waiter);
  if (found != waiters_.end()) {
    found->second.seen = now;
    found->second.woken.reset();
    return waiter;
  }
  waiters_.emplace(++last_, Waiter{set, owner.label, now, {}});
  return last_;
}

bool Line::leave(std::uint64_t waiter) { return waiters_.erase(waiter) != 0; }

TimePoint Line::counts_until(const Waiter& waiter) {
  const TimePoint forgotten = later(waiter.seen, waiter_lifetime);
  return waiter.woken ? std::min(forgotten, later(*waiter.woken, comes_within)) : forgotten;
}

TimePoint Line::counts_until(std::uint64_t waiter) const {
  return counts_until(waiters_.at(waiter));
}

Line::Kept Line::kept(std::string_view name, std::uint64_t waiter, std::uint32_t max_overtakes,
                      TimePoint now) const {
  Kept kept;
  for (const auto& [number, other] : waiters_) {
    if (waiter != no_waiter && number >= waiter) break;
    if (other.overtaken < max_overtakes || counts_until(other) <= now) continue;
    const LockRequest* item = find(other.set, name);
    if (item == nullptr) continue;
    ++(item->mode == Mode::read ? kept.reads : kept.writes);
    if (kept.first == no_waiter) kept.first = number;
  }
  return kept;
}

void Line::overtake(const LockSet& set, std::uint64_t waiter, TimePoint now) {
  for (auto& [number, other] : waiters_) {
    if (waiter != no_waiter && number >= waiter) break;
    if (counts_until(other) > now && meet(other.set, set)) ++other.overtaken;
  }
}

void Line::wake(const LockSet& set, TimePoint now) {
  for (auto& [number, other] : waiters_) {
    if (!other.woken && meet(other.set, set)) other.woken = now;
  }
}

bool Line::prod(std::uint64_t waiter, TimePoint now) {
  Waiter& kept = waiters_.at(waiter);
  if (kept.woken || now - kept.seen < prod_after) return false;
  kept.woken = now;
  return true;
}

const std::string& Line::label_of(std::uint64_t waiter) const { return waiters_.at(waiter).label; }

void Line::sweep(TimePoint now) {
  std::erase_if(waiters_,
                [&](const auto& each) { return now - each.second.seen >= waiter_lifetime; });
}

}  // namespace lockset
