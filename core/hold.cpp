#include "lockset/hold.h"

#include <algorithm>
#include <utility>

#include "core/hold_state.h"
#include "core/manager.h"

namespace lockset {

std::string_view to_string(LostReason reason) noexcept {
  switch (reason) {
    case LostReason::not_lost:
      return "not lost";
    case LostReason::expired:
      return "the lease ran out before it could be renewed";
    case LostReason::gone:
      return "the store no longer has the hold: expired, broken or reclaimed";
    case LostReason::app_lost:
      return "the hold on the application id was lost";
    case LostReason::superseded:
      return "a newer instance of the application took over";
    case LostReason::in_doubt:
      return "the store did not say whether it was downgraded";
  }
  return "unknown";
}

namespace {

Error holds_nothing() { return {Errc::not_held, "this Hold holds nothing"}; }

// For a hold that its manager released when it closed.
Error manager_gone(Stamp stamp) {
  return {Errc::not_held, "stamp " + std::to_string(stamp.value) +
                              " is not held: its Locks was destroyed and released it"};
}

Error parents(Stamp stamp) {
  return {Errc::not_held, "stamp " + std::to_string(stamp.value) +
                              " is held by the parent process, not by this one"};
}

}  // namespace

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this != &other) {
    Hold old(std::move(*this));  // releases at the end of the scope
    state_ = std::move(other.state_);
  }
  return *this;
}

Hold::~Hold() {
  if (!state_ || state_->in_child() || state_->released()) return;
  if (const auto manager = state_->manager()) static_cast<void>(manager->release(*state_).ok());
}

Stamp Hold::stamp() const noexcept { return state_ ? state_->stamp() : Stamp{}; }

std::span<const LockRequest> Hold::items() const noexcept {
  return state_ ? state_->set().items() : std::span<const LockRequest>{};
}

Stamp Hold::floor(std::string_view name) const noexcept {
  if (!state_) return {};
  const auto items = state_->set().items();
  const auto item = std::find_if(items.begin(), items.end(),
                                 [&](const LockRequest& one) { return one.name == name; });
  const auto at = static_cast<std::size_t>(item - items.begin());
  return at < state_->floors().size() ? state_->floors()[at] : Stamp{};
}

Duration Hold::lease() const noexcept { return state_ ? state_->lease() : Duration::zero(); }

bool Hold::valid() const noexcept { return state_ && state_->valid(); }

bool Hold::valid_for(Duration duration) const noexcept {
  return valid() && duration < state_->valid_until() - state_->now();
}

TimePoint Hold::valid_until() const noexcept {
  return state_ ? state_->valid_until() : TimePoint{};
}

std::stop_token Hold::lost() const noexcept { return state_ ? state_->lost() : std::stop_token{}; }

std::stop_token Hold::ended() const noexcept {
  return state_ ? state_->ended() : std::stop_token{};
}

LostReason Hold::lost_reason() const noexcept {
  return state_ ? state_->lost_reason() : LostReason::not_lost;
}

Status Hold::renew() {
  if (!state_) return holds_nothing();
  if (state_->in_child()) return parents(stamp());
  const auto manager = state_->manager();
  return manager ? manager->renew(*state_) : Status(manager_gone(stamp()));
}

Status Hold::release() {
  if (!state_) return holds_nothing();
  if (state_->in_child()) return parents(stamp());
  const auto manager = state_->manager();
  return manager ? manager->release(*state_) : Status(manager_gone(stamp()));
}

void Hold::start_release(std::function<void(Status)> done) && {
  const std::shared_ptr<HoldState> state = std::exchange(state_, nullptr);
  if (!state) return done(holds_nothing());
  if (state->in_child()) return done(parents(state->stamp()));
  const auto manager = state->manager();
  if (!manager) return done(manager_gone(state->stamp()));
  manager->start_release(state, std::move(done));
}

Tried<std::optional<Hold>> Hold::convert(Mode mode) {
  if (!state_) return holds_nothing();
  if (state_->in_child()) return parents(stamp());
  const auto manager = state_->manager();
  if (!manager) return manager_gone(stamp());
  Result<std::shared_ptr<HoldState>> converted = manager->convert(*state_, mode);
  if (!converted) return std::move(converted).error();
  if (!*converted) return std::optional<Hold>();
  return std::optional<Hold>(Hold(*std::move(converted)));
}

Tried<std::optional<Hold>> Hold::try_upgrade() { return convert(Mode::write); }

Tried<std::optional<Hold>> Hold::downgrade() { return convert(Mode::read); }

Result<Stamp> Hold::detach() {
  if (!state_) return holds_nothing();
  if (state_->in_child()) return parents(stamp());
  const auto manager = state_->manager();
  if (!manager) return manager_gone(stamp());
  Result<Stamp> stamp = manager->detach(*state_);
  if (stamp) state_.reset();
  return stamp;
}

}  // namespace lockset
