// Who waits in a memory store, in the order in which they came. Keeps names for those who were
// overtaken often enough (semantics 13). All other stores keep the same rules in their own terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "lockset/clock.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"

namespace lockset {

// Not thread-safe: guarded by the store's mutex. In every call, `waiter` is the number of who asks,
// or no_waiter if it does not stand in the line: then all others came before it.
class Line {
 public:
  static constexpr std::uint64_t no_waiter = 0;

  // The waiters who count as holds of a name.
  struct Kept {
    std::size_t reads = 0;
    std::size_t writes = 0;
    std::uint64_t first = no_waiter;
    [[nodiscard]] std::size_t of(Mode mode) const { return mode == Mode::read ? reads : writes; }
  };

  [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }
  // Takes a place in the line, or confirms it. Returns its number.
  std::uint64_t stand(std::uint64_t waiter, const LockSet& set, const Owner& owner, TimePoint now);
  // False if it did not stand there.
  bool leave(std::uint64_t waiter);
  // Those before `waiter` for whom `name` is kept.
  [[nodiscard]] Kept kept(std::string_view name, std::uint64_t waiter, std::uint32_t max_overtakes,
                          TimePoint now) const;
  // `waiter` is granted this set: counts that for each of those before it who wait for a part.
  void overtake(const LockSet& set, std::uint64_t waiter, TimePoint now);
  // The waiters for a part of this set are woken: from now on they have comes_within to come.
  void wake(const LockSet& set, TimePoint now);
  // Names are kept for `waiter`, and others want them. If it was not heard of lately, it counts as
  // woken, and the result is true: wake it.
  bool prod(std::uint64_t waiter, TimePoint now);
  // When it stops to count unless it comes. REQUIRES: it stands in the line.
  [[nodiscard]] TimePoint counts_until(std::uint64_t waiter) const;
  [[nodiscard]] const std::string& label_of(std::uint64_t waiter) const;
  // Removes those who were not heard of for a long time.
  void sweep(TimePoint now);

 private:
  struct Waiter {
    LockSet set;
    std::string label;
    TimePoint seen;  // its last attempt
    std::optional<TimePoint> woken;
    std::uint32_t overtaken = 0;
  };
  static TimePoint counts_until(const Waiter& waiter);

  std::uint64_t last_ = no_waiter;
  std::map<std::uint64_t, Waiter> waiters_;
};

}  // namespace lockset
