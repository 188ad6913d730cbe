#include "core/hold_state.h"

#include <utility>

#include "lockset/locks.h"

namespace lockset {

HoldState::HoldState(Made made)
    : made_(std::move(made)),
      lease_(made_.sent, made_.lease),
      valid_until_(lease_.valid_until().time_since_epoch().count()),
      renew_at_(lease_.renew_at().time_since_epoch().count()) {}

template <class Event>
bool HoldState::apply(Event&& event) {
  const std::lock_guard lock(mutex_);
  const LeaseState::Phase before = lease_.phase();
  // valid() may have found the end before any other event.
  if (valid_until_.load() == 0) lease_.lose(LostReason::expired);
  event(lease_);
  if (lease_.phase() == LeaseState::Phase::held) {
    Duration::rep seen = valid_until_.load();
    const Duration::rep end = lease_.valid_until().time_since_epoch().count();
    // Fails only if valid() answered false meanwhile: then it stays false.
    while (seen != 0 && !valid_until_.compare_exchange_weak(seen, end)) {
    }
    if (seen == 0) lease_.lose(LostReason::expired);
  }
  if (lease_.phase() != LeaseState::Phase::held) valid_until_.store(0);
  phase_.store(lease_.phase(), std::memory_order_release);
  renew_at_.store(lease_.renew_at().time_since_epoch().count(), std::memory_order_release);
  return before == LeaseState::Phase::held && lease_.phase() == LeaseState::Phase::lost;
}

Duration HoldState::lease() const {
  const std::lock_guard lock(mutex_);
  return lease_.lease();
}

TimePoint HoldState::valid_until() const noexcept {
  const TimePoint own(Duration(valid_until_.load()));
  return made_.app_hold ? std::min(own, made_.app_hold->valid_until()) : own;
}

bool HoldState::unexpired() const noexcept {
  Duration::rep until = valid_until_.load();
  if (until == 0 || in_child()) return false;
  if (made_.app_hold && !made_.app_hold->valid()) return false;
  const Duration::rep now = this->now().time_since_epoch().count();
  if (now < until) return true;
  // A renewal may have moved the end just now; if none did, none may move it from here on.
  while (now >= until && until != 0 && !valid_until_.compare_exchange_weak(until, 0)) {
  }
  return now < until;
}

LostReason HoldState::lost_reason() const {
  const std::lock_guard lock(mutex_);
  return lease_.lost_reason();
}

RenewRequest HoldState::renew_request() const {
  const bool permanent = made_.renew_with == no_lease;
  return {ref(), permanent ? default_lease : made_.renew_with, permanent};
}

bool HoldState::renewed(TimePoint sent, Duration lease) {
  return apply([&](LeaseState& state) { state.renewed(sent, lease, now()); });
}

bool HoldState::denied() {
  return apply([this](LeaseState& state) {
    if (converting_) {
      denied_meanwhile_ = true;
      state.failed(now());
    } else {
      state.denied();
    }
  });
}

void HoldState::begin_conversion(bool gives_up) {
  const std::lock_guard lock(mutex_);
  converting_ = true;
  denied_meanwhile_ = false;
  given_up_ = gives_up;
}

bool HoldState::end_conversion() {
  const bool newly_lost = apply([this](LeaseState& state) {
    converting_ = false;
    if (denied_meanwhile_) state.denied();
  });
  given_up_ = false;
  return newly_lost;
}

bool HoldState::failed() {
  return apply([this](LeaseState& state) { state.failed(now()); });
}

bool HoldState::tick() {
  return apply([this](LeaseState& state) { state.tick(now()); });
}

bool HoldState::lose(LostReason reason) {
  return apply([&](LeaseState& state) { state.lose(reason); });
}

HoldState::Released HoldState::release() {
  Released result{};
  result.newly_lost = apply([&](LeaseState& state) { result.was_held = state.release(now()); });
  if (result.was_held) {
    std::stop_source ended(std::nostopstate);
    {
      const std::lock_guard lock(mutex_);
      ended = ended_;
    }
    ended.request_stop();
  }
  return result;
}

std::stop_token HoldState::lost() const {
  if (in_child()) return {};  // in the child, the mutex may stay locked for ever
  const std::lock_guard lock(mutex_);
  if (!lost_.stop_possible()) {
    lost_ = std::stop_source();
    if (announced_) lost_.request_stop();  // nobody has registered a callback yet
  }
  return lost_.get_token();
}

std::stop_token HoldState::ended() const {
  if (in_child()) return {};
  const std::lock_guard lock(mutex_);
  if (!ended_.stop_possible()) {
    ended_ = std::stop_source();
    if (announced_ || released()) ended_.request_stop();
  }
  return ended_.get_token();
}

void HoldState::announce_loss() noexcept {
  std::stop_source lost(std::nostopstate);
  std::stop_source ended(std::nostopstate);
  {
    const std::lock_guard lock(mutex_);
    announced_ = true;
    lost = lost_;
    ended = ended_;
  }
  lost.request_stop();
  ended.request_stop();
}

}  // namespace lockset
