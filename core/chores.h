// The work that lost replies leave in the store: attempts that may still be granted, and holds
// whose release was not confirmed. Pure bookkeeping; the housekeeper does the work. Semantics 14.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/known_hold.h"
#include "lockset/clock.h"

namespace lockset {

struct Chore {
  // The hold to release. Without a stamp: an attempt, to be released if it was granted.
  KnownHold hold;
  // When the lease has certainly ended and nothing is left to do.
  TimePoint until;
  TimePoint next;
  // The hold whose place that attempt was to take: it is lost if it did. 0: none.
  Stamp replaces{};
  Duration pause = std::chrono::milliseconds(200);
};

class Chores {
 public:
  void add(Chore chore) { chores_.push_back(std::move(chore)); }
  [[nodiscard]] bool empty() const noexcept { return chores_.empty(); }

  [[nodiscard]] TimePoint next() const noexcept {
    TimePoint soonest = TimePoint::max();
    for (const Chore& chore : chores_) soonest = std::min(soonest, chore.next);
    return soonest;
  }

  // Takes out the chore that has been due for longest, and drops those whose time is over.
  std::optional<Chore> take_due(TimePoint now) {
    std::erase_if(chores_, [&](const Chore& chore) { return now >= chore.until; });
    const auto first =
        std::min_element(chores_.begin(), chores_.end(),
                         [](const Chore& a, const Chore& b) { return a.next < b.next; });
    if (first == chores_.end() || now < first->next) return {};
    Chore due = std::move(*first);
    chores_.erase(first);
    return due;
  }

  // Takes out those that no end of a lease makes unnecessary.
  std::vector<Chore> take_endless() {
    const auto first = std::ranges::stable_partition(
        chores_, [](const Chore& chore) { return chore.until != TimePoint::max(); });
    std::vector<Chore> endless(std::make_move_iterator(first.begin()),
                               std::make_move_iterator(first.end()));
    chores_.erase(first.begin(), first.end());
    return endless;
  }

  // Puts back a chore that must be repeated; the interval grows each time.
  void again(Chore chore, TimePoint now) {
    chore.next = now + chore.pause;
    chore.pause = std::min<Duration>(chore.pause * 2, std::chrono::seconds(5));
    add(std::move(chore));
  }

 private:
  std::vector<Chore> chores_;
};

}  // namespace lockset
