#include "core/acquire_loop.h"

#include <algorithm>
#include <utility>

#include "core/lease_state.h"

namespace lockset {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Polling {
  Duration first;
  Duration most;
};
constexpr Polling with_push{milliseconds(250), seconds(5)};
// In a line, each release wakes the next waiter. If many waiters poll soon, the store is busy with
// their polls, and the woken one waits behind them.
constexpr Duration first_in_line = seconds(2);
constexpr Polling without_push{milliseconds(10), seconds(1)};
constexpr Polling after_trouble{milliseconds(20), seconds(1)};

// If one attempt meets more changes of configuration than this, something is wrong.
constexpr int most_stale_in_a_row = 1000;

Duration grown(Duration interval, Duration most) { return std::min(interval * 3 / 2, most); }

// A quarter more or less, so that waiters do not retry in step.
Duration jittered(Duration interval, Random& random) {
  return random.between(interval * 3 / 4, interval * 5 / 4);
}

}  // namespace

AcquireLoop::AcquireLoop(const Settings& settings, Random& random, NewToken new_token)
    : settings_(settings),
      random_(random),
      new_token_(std::move(new_token)),
      next_poll_((settings.push_wakeup ? with_push : without_push).first),
      next_backoff_(after_trouble.first) {}

AcquireLoop::Action AcquireLoop::begin(TimePoint now) { return attempt(now); }

AcquireLoop::Action AcquireLoop::attempt(TimePoint now) {
  token_ = new_token_();
  sent_ = now;
  return Attempt{token_};
}

AcquireLoop::Action AcquireLoop::resolve_one(TimePoint now) {
  next_doubt_ = (next_doubt_ + 1) % doubts_.size();
  sent_ = now;
  return Resolve{doubts_[next_doubt_].token};
}

AcquireLoop::Action AcquireLoop::attempted(Result<AcquireOutcome> outcome, TimePoint now) {
  if (!outcome) {
    if (outcome.error().may_have_applied()) doubts_.push_back({token_, sent_});
    return trouble(std::move(outcome).error(), now);
  }
  // A late grant counts as trouble too: it must not reset the patience.
  if (Grant* granted = std::get_if<Grant>(&*outcome)) return grant(std::move(*granted), sent_, now);
  // A try gets no answer from a stale reply: with a reset patience it could begin again for ever.
  if (!settings_.single_try) trouble_since_.reset();
  next_backoff_ = after_trouble.first;
  if (Busy* found = std::get_if<Busy>(&*outcome)) {
    stale_in_a_row_ = 0;
    return busy(std::move(*found), now);
  }
  if (Changed* found = std::get_if<Changed>(&*outcome)) return refused(std::move(*found), now);
  if (std::holds_alternative<Gone>(*outcome)) return refused(Gone{}, now);
  // Stale: the driver of the loop has taken over the new configuration.
  if (++stale_in_a_row_ > most_stale_in_a_row) {
    return Finish(Error{Errc::unavailable,
                        "the configuration of the lock space changes faster than it can be read"});
  }
  return attempt(now);
}

AcquireLoop::Action AcquireLoop::grant(Grant grant, TimePoint sent, TimePoint now) {
  // A grant is useless if its answer took longer than the lease.
  if (now >= validity_end(sent, grant.lease)) return Discard{grant.stamp};
  return Finish(Granted{std::move(grant), sent});
}

AcquireLoop::Action AcquireLoop::busy(Busy busy, TimePoint now) {
  if (settings_.single_try) return Finish(Contended{std::move(busy)});
  if (now >= settings_.deadline) {
    const std::string holder = busy.holder ? " is held by " + busy.holder_label + " (stamp " +
                                                 std::to_string(busy.holder.value) + ")"
                                           : " is kept by " + busy.holder_label;
    return Finish(Error{Errc::timeout, "the wait ended: " + in_quotes(busy.name) + holder});
  }
  const bool stands_in_line = settings_.queued_wakeup && busy.ticket;
  if (stands_in_line) next_poll_ = std::max(next_poll_, first_in_line);
  Duration pause = jittered(next_poll_, random_);
  next_poll_ = grown(next_poll_, (settings_.push_wakeup ? with_push : without_push).most);
  if (busy.retry_after && *busy.retry_after < pause) {
    // Nobody announces that a lease ran out. Spread the waiters that wait for the same one.
    const Duration spread = random_.between(milliseconds(1), milliseconds(25));
    pause = std::min(pause, *busy.retry_after + spread);
  }
  return Wait{now + std::min(pause, settings_.deadline - now), true};
}

AcquireLoop::Action AcquireLoop::refused(Finish refusal, TimePoint now) {
  if (doubts_.empty()) return refusal;
  refusal_ = std::move(refusal);
  still_to_ask_ = doubts_.size();
  return resolve_one(now);
}

AcquireLoop::Action AcquireLoop::trouble(Error error, TimePoint now) {
  still_to_ask_ = doubts_.size();
  const bool worth_another = error.retryable() || error.may_have_applied();
  if (!worth_another) return Finish(std::move(error));
  if (!trouble_since_) {
    // The first failure is often a connection that died while idle: retry at once.
    trouble_since_ = now;
    return doubts_.empty() ? attempt(now) : resolve_one(now);
  }
  const bool patient = !settings_.single_try && now < settings_.deadline &&
                       now - *trouble_since_ < settings_.patience;
  if (!patient) {
    // An attempt that may have been granted must not be reported as certainly not applied.
    if (!doubts_.empty()) error.code = Errc::indeterminate;
    return Finish(std::move(error));
  }
  const Duration pause = jittered(next_backoff_, random_);
  next_backoff_ = grown(next_backoff_, after_trouble.most);
  return Wait{now + std::min(pause, settings_.deadline - now), false};
}

AcquireLoop::Action AcquireLoop::resolved(Result<std::optional<Grant>> found, TimePoint now) {
  if (!found) return trouble(std::move(found).error(), now);
  if (!*found) {
    if (!refusal_) return attempt(now);
    return --still_to_ask_ == 0 ? std::move(*refusal_) : resolve_one(now);
  }
  refusal_.reset();
  doubts_.erase(doubts_.begin() + static_cast<std::ptrdiff_t>(next_doubt_));
  next_doubt_ = 0;
  // The store read the rest of the lease after this question was sent.
  return grant(std::move(**found), sent_, now);
}

AcquireLoop::Action AcquireLoop::discarded(TimePoint now) {
  return trouble(Error{Errc::unavailable, "the store took longer to answer than the lease lasts"},
                 now);
}

AcquireLoop::Action AcquireLoop::waited(TimePoint now) {
  return doubts_.empty() ? attempt(now) : resolve_one(now);
}

AcquireLoop::Action AcquireLoop::stopped() {
  return Finish(Error{Errc::cancelled, "the wait was cancelled"});
}

}  // namespace lockset
