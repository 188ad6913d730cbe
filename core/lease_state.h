// When a hold is valid, when to renew it and when to give it up: a pure machine. The caller passes
// in all moments. No threads, no I/O, no clock. Semantics 10.
#pragma once

#include <cstdint>

#include "core/margin.h"
#include "lockset/clock.h"
#include "lockset/hold.h"

namespace lockset {

// The last moment at which a hold is certainly live in the store. It is counted from the sending of
// the request, which is before the store began to count. TimePoint::max() for a lease without end.
TimePoint validity_end(TimePoint sent, Duration lease) noexcept;

// clang-format off
//   state     renewed(in time)  renewed(late)  denied      failed       tick(at the end)  release()
//   held      held, longer      lost: expired  lost: gone  held, retry  lost: expired     released
//   lost      lost              lost           lost        lost         lost              released
//   released  released          released       released    released     released          released
// clang-format on
class LeaseState {
 public:
  enum class Phase : std::uint8_t { held, lost, released };

  // `lease` is the effective one, counted from `sent`; Duration::max() has no end.
  LeaseState(TimePoint sent, Duration lease) noexcept;

  [[nodiscard]] Phase phase() const noexcept { return phase_; }
  [[nodiscard]] LostReason lost_reason() const noexcept { return reason_; }
  // True if held and `now` is before the end of validity.
  [[nodiscard]] bool valid(TimePoint now) const noexcept;
  [[nodiscard]] TimePoint valid_until() const noexcept { return valid_until_; }
  // When the next renewal is due; TimePoint::max() unless held.
  [[nodiscard]] TimePoint renew_at() const noexcept;
  [[nodiscard]] Duration lease() const noexcept { return lease_; }

  // The store confirmed a renewal that was sent at `sent`; the answer came at `now`.
  // Never brings a lost hold back, and never shortens validity.
  void renewed(TimePoint sent, Duration lease, TimePoint now) noexcept;
  // The store has no such hold.
  void denied() noexcept;
  // The store could not be asked, or its answer was lost: try again soon.
  void failed(TimePoint now) noexcept;
  // Time passed.
  void tick(TimePoint now) noexcept;
  // Something else ended it: see LostReason.
  void lose(LostReason reason) noexcept;
  // The holder released it. True if the hold was valid until now. Then a store that no longer has
  // it lost it, or has already done a release whose reply was lost.
  bool release(TimePoint now) noexcept;

 private:
  Phase phase_ = Phase::held;
  LostReason reason_ = LostReason::not_lost;
  Duration lease_;
  TimePoint valid_until_;
  TimePoint renew_at_;
};

}  // namespace lockset
