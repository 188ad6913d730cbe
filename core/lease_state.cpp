#include "core/lease_state.h"

#include <algorithm>

#include "core/time_math.h"

namespace lockset {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration endless = Duration::max();

// A hold without an end is still looked up now and then, to learn that it was broken.
Duration renewal_period(Duration lease) noexcept {
  return lease == endless ? Duration(seconds(10)) : lease / 3;
}

}  // namespace

TimePoint validity_end(TimePoint sent, Duration lease) noexcept {
  return later(sent, lease == endless ? endless : lease - margin_of(lease));
}

LeaseState::LeaseState(TimePoint sent, Duration lease) noexcept
    : lease_(lease),
      valid_until_(validity_end(sent, lease)),
      renew_at_(sent + renewal_period(lease)) {}

bool LeaseState::valid(TimePoint now) const noexcept {
  return phase_ == Phase::held && now < valid_until_;
}

TimePoint LeaseState::renew_at() const noexcept {
  return phase_ == Phase::held ? renew_at_ : TimePoint::max();
}

void LeaseState::renewed(TimePoint sent, Duration lease, TimePoint now) noexcept {
  tick(now);
  if (phase_ != Phase::held) return;
  // Answers may overtake each other. The store never shortens a lease, so the latest end that any
  // answer promised is valid.
  const TimePoint end = validity_end(sent, lease);
  if (end >= valid_until_) {
    valid_until_ = end;
    lease_ = lease;
  }
  renew_at_ = std::max(renew_at_, sent + renewal_period(lease));
}

void LeaseState::denied() noexcept { lose(LostReason::gone); }

void LeaseState::failed(TimePoint now) noexcept {
  tick(now);
  if (phase_ != Phase::held) return;
  const Duration left = valid_until_ == TimePoint::max() ? endless : valid_until_ - now;
  renew_at_ = now + std::clamp<Duration>(left / 8, milliseconds(20), seconds(2));
}

void LeaseState::tick(TimePoint now) noexcept {
  if (now >= valid_until_) lose(LostReason::expired);
}

void LeaseState::lose(LostReason reason) noexcept {
  if (phase_ != Phase::held) return;
  phase_ = Phase::lost;
  reason_ = reason;
}

bool LeaseState::release(TimePoint now) noexcept {
  tick(now);
  if (phase_ != Phase::held) return false;
  phase_ = Phase::released;
  return true;
}

}  // namespace lockset
