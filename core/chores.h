// What is left to tidy up in the store after lost replies: attempts that may still
// be granted, and holds whose release was not confirmed. Pure bookkeeping; the
// renewer does the work. Semantics 14.
#pragma once

#include <algorithm>
#include <variant>
#include <vector>

#include "lockset/clock.h"
#include "lockset/stamp.h"

namespace lockset {

struct Chore {
  // A token: look whether its attempt was granted, and release it then.
  // A stamp: release it.
  std::variant<Token, Stamp> what;
  // When the lease has surely ended and nothing is left to do.
  TimePoint until;
  TimePoint next;
  Duration pause = std::chrono::milliseconds(200);
};

class Chores {
 public:
  void add(const Chore& chore) { chores_.push_back(chore); }
  [[nodiscard]] bool empty() const noexcept { return chores_.empty(); }

  [[nodiscard]] TimePoint next() const noexcept {
    TimePoint soonest = TimePoint::max();
    for (const Chore& chore : chores_) soonest = std::min(soonest, chore.next);
    return soonest;
  }

  // Takes out those that are due, and drops those that are over.
  std::vector<Chore> take_due(TimePoint now) {
    std::vector<Chore> due;
    std::erase_if(chores_, [&](const Chore& chore) {
      if (now >= chore.until) return true;
      if (now < chore.next) return false;
      due.push_back(chore);
      return true;
    });
    return due;
  }

  // Puts one back that has to be done again, more seldom each time.
  void again(Chore chore, TimePoint now) {
    chore.next = now + chore.pause;
    chore.pause = std::min<Duration>(chore.pause * 2, std::chrono::seconds(5));
    add(chore);
  }

 private:
  std::vector<Chore> chores_;
};

}  // namespace lockset
