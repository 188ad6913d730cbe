#include "tests/support/client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>

#include "core/register_again.h"
#include "core/time_math.h"
#include "tests/support/wait.h"

namespace lockset::test {

namespace {

Result<AcquireOutcome> at_once(Backend& backend, const AcquireRequest& request) {
  return backend.try_acquire(request);
}

// How often the running test has asked, and asked again. A store whose sessions end now and then is
// sound; one that often fails the first attempt is not.
class Repeats {
 public:
  void asked() {
    const std::lock_guard lock(mutex_);
    const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
    if (test != test_) {
      test_ = test;
      asked_ = failed_ = 0;
    }
    ++asked_;
  }
  void failed(const Error& error) {
    const std::lock_guard lock(mutex_);
    // A busy machine may have ended a session in each of the first few.
    if (++failed_ <= 5 + asked_ / 10) return;
    ADD_FAILURE() << failed_ << " of " << asked_ << " attempts failed, which is too many for ends "
                  << "of sessions; the last one: " << error.message;
  }

 private:
  std::mutex mutex_;
  const testing::TestInfo* test_ = nullptr;
  std::size_t asked_ = 0;
  std::size_t failed_ = 0;
};

Repeats& repeats() {
  static Repeats all;
  return all;
}

[[noreturn]] void unexpected(const std::string& what, const Result<AcquireOutcome>& outcome) {
  throw std::runtime_error("expected " + what + ", got " + describe(outcome));
}

}  // namespace

std::string describe(const Result<AcquireOutcome>& outcome) {
  if (!outcome)
    return std::string(to_string(outcome.error().code)) + ": " + outcome.error().message;
  if (const auto* grant = std::get_if<Grant>(&*outcome)) {
    return "granted " + std::to_string(grant->stamp.value);
  }
  if (const auto* busy = std::get_if<Busy>(&*outcome)) {
    return "busy: " + in_quotes(busy->name) + " held by " + std::to_string(busy->holder.value);
  }
  if (const auto* changed = std::get_if<Changed>(&*outcome)) {
    return "changed: item " + std::to_string(changed->item) + " by " +
           std::to_string(changed->trace.last_write.value);
  }
  return std::holds_alternative<Gone>(*outcome) ? "gone" : "stale";
}

Wanted sorted(Wanted items) {
  std::sort(items.begin(), items.end());
  return items;
}

LockSet make_set(Wanted wanted) {
  return LockSet::make(std::move(wanted), LockSet::Names::reserved_too).value();
}

Client::Client(std::shared_ptr<Backend> backend, std::string app, std::int64_t epoch)
    : backend_(std::move(backend)), owner_{std::move(app), Token::random().hex(), epoch, "a test"} {
  reload();
}

Result<AcquireOutcome> outlasting_sessions(Backend& backend, const AcquireRequest& request) {
  if (!backend.traits().session_leases) return backend.try_acquire(request);
  repeats().asked();
  for (;;) {
    Result<AcquireOutcome> outcome = backend.try_acquire(request);
    if (outcome || BootClock::now() >= request.by) return outcome;
    const Error& error = outcome.error();
    repeats().failed(error);
    if (error.may_have_applied()) {
      const Result<std::optional<Grant>> known = backend.resolve(request.token, request.by);
      if (!known) return known.error();
      if (*known) return AcquireOutcome(**known);
    } else if (!error.retryable()) {
      return outcome;
    }
  }
}

Result<AcquireOutcome> Client::ask_once(const Wanted& wanted, const Ask& ask) {
  return ask_once(wanted, ask, at_once);
}

Result<AcquireOutcome> Client::ask(const Wanted& wanted, const Ask& ask) {
  return this->ask(wanted, ask, at_once);
}

Result<AcquireOutcome> Client::ask_once(const Wanted& wanted, const Ask& ask, Attempt& attempt) {
  const LockSet set = make_set(wanted);
  std::vector<std::uint32_t> permits;
  for (const LockRequest& item : set.items()) {
    permits.push_back(config_.permits_of(item.name).of(item.mode));
  }
  AcquireRequest request;
  request.set = &set;
  request.permits = permits;
  request.config_version = config_.version;
  request.max_overtakes = config_.max_overtakes;
  request.token = ask.token ? *ask.token : Token::random();
  request.owner = &owner_;
  request.lease = ask.lease;
  request.min_stamp = ask.min_stamp;
  request.unchanged_since = ask.unchanged_since;
  const HoldRef replaced = ask.replaces ? known(*ask.replaces) : HoldRef();
  if (ask.replaces) request.replaces = &replaced;
  request.ends_with_process = ask.ends_with_process;
  request.will_wait = ask.will_wait;
  request.ticket = ask.ticket;
  request.by = ask.by ? *ask.by : soon();
  const TimePoint sent = BootClock::now();
  Result<AcquireOutcome> outcome = attempt(*backend_, request);
  const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  if (!outcome || grant != nullptr) {
    attempts_.insert_or_assign(request.token, KnownHold{set, owner_, request.token});
  }
  if (grant != nullptr) granted(*grant, request.token, sent);
  return outcome;
}

Result<AcquireOutcome> Client::ask(const Wanted& wanted, const Ask& ask, Attempt& attempt) {
  // Bounded: a backend that always answers stale must fail a test, not hang it.
  for (int i = 0; i < 1000; ++i) {
    Result<AcquireOutcome> outcome = ask_once(wanted, ask, attempt);
    if (!outcome || !std::holds_alternative<Stale>(*outcome)) return outcome;
    Result<SpaceConfig> config = backend_->load_config(ask.by ? *ask.by : soon());
    if (!config) return std::move(config).error();
    config_ = *std::move(config);
  }
  throw std::runtime_error("the backend answers stale again and again");
}

std::optional<Grant> Client::try_take(const Wanted& wanted, const Ask& how) {
  Result<AcquireOutcome> outcome = ask(wanted, how, outlasting_sessions);
  if (!outcome) unexpected("granted or busy", outcome);
  Grant* grant = std::get_if<Grant>(&*outcome);
  if (grant == nullptr) return {};
  return std::move(*grant);
}

Grant Client::take(const Wanted& wanted, const Ask& how) {
  Result<AcquireOutcome> outcome = ask(wanted, how, outlasting_sessions);
  if (!outcome || !std::holds_alternative<Grant>(*outcome)) unexpected("a grant", outcome);
  return std::get<Grant>(*std::move(outcome));
}

Busy Client::meet_busy(const Wanted& wanted, const Ask& how) {
  Result<AcquireOutcome> outcome = ask(wanted, how, outlasting_sessions);
  if (!outcome || !std::holds_alternative<Busy>(*outcome)) unexpected("busy", outcome);
  return std::get<Busy>(*std::move(outcome));
}

Changed Client::meet_changed(const Wanted& wanted, const Ask& how) {
  Result<AcquireOutcome> outcome = ask(wanted, how, outlasting_sessions);
  if (!outcome || !std::holds_alternative<Changed>(*outcome)) unexpected("changed", outcome);
  return std::get<Changed>(*std::move(outcome));
}

void Client::meet_gone(const Wanted& wanted, const Ask& how) {
  Result<AcquireOutcome> outcome = ask(wanted, how, outlasting_sessions);
  if (!outcome || !std::holds_alternative<Gone>(*outcome)) unexpected("gone", outcome);
}

std::vector<Trace> Client::observe(const std::vector<std::string>& names) {
  for (int i = 0; i < 1000; ++i) {
    ObserveOutcome outcome = backend_->observe({names, config_.version, soon()}).value();
    if (auto* traces = std::get_if<std::vector<Trace>>(&outcome)) return std::move(*traces);
    reload();
  }
  throw std::runtime_error("the backend answers stale again and again");
}

void Client::granted(const Grant& grant, const Token& token, TimePoint sent) {
  const auto attempt = attempts_.find(token);
  if (attempt == attempts_.end()) return;
  attempt->second.stamp = grant.stamp;
  attempt->second.store_time_us = grant.store_time_us;
  granted_[grant.stamp] = {token, later(sent, grant.lease)};
}

HoldRef Client::known(Stamp stamp) const {
  const auto hold = granted_.find(stamp);
  if (hold == granted_.end() || BootClock::now() >= hold->second.until) return stamp;
  return attempts_.at(hold->second.token).ref();
}

HoldRef Client::known(const Token& token) const {
  const auto attempt = attempts_.find(token);
  return attempt == attempts_.end() ? HoldRef(token) : attempt->second.ref();
}

std::vector<HoldRef> Client::known(std::span<const Stamp> stamps) const {
  std::vector<HoldRef> holds;
  for (const Stamp stamp : stamps) holds.push_back(known(stamp));
  return holds;
}

bool Client::release(Stamp stamp) {
  return backend_->release(known(stamp), owner_.app, soon()).value();
}

bool Client::break_hold(Stamp stamp) { return backend_->break_hold(known(stamp), soon()).value(); }

Result<std::optional<Renewal>> Client::ask_to_renew(Stamp stamp, Duration lease) {
  const RenewRequest request{known(stamp), lease};
  const TimePoint sent = BootClock::now();
  const Result<RenewReply> reply = backend_->renew(owner_, {&request, 1}, soon());
  if (!reply) return reply.error();
  Result<std::optional<Renewal>> renewal = reply->renewals.at(0);
  if (reply->may_be_forgotten(0)) {
    renewal = register_again(*backend_, owner_, request, config_, soon());
  }
  const auto hold = granted_.find(stamp);
  if (renewal && *renewal && hold != granted_.end()) {
    hold->second.until = later(sent, (*renewal)->lease);
  }
  return renewal;
}

std::optional<Renewal> Client::renew(Stamp stamp, Duration lease) {
  return ask_to_renew(stamp, lease).value();
}

std::optional<Renewal> Client::make_permanent(Stamp stamp) {
  const RenewRequest request{known(stamp), std::chrono::milliseconds(1), true};
  return backend_->renew(owner_, {&request, 1}, soon()).value().renewals.at(0);
}

std::optional<Grant> Client::resolve(const Token& token) {
  const TimePoint sent = BootClock::now();
  const std::optional<Grant> grant = backend_->resolve(known(token), soon()).value();
  if (grant) granted(*grant, token, sent);
  return grant;
}

Inspection Client::inspect(const InspectQuery& query) {
  return backend_->inspect(query, soon()).value();
}

bool Client::is_live(Stamp stamp) {
  const std::vector<HoldInfo> all = holds();
  return std::any_of(all.begin(), all.end(),
                     [&](const HoldInfo& hold) { return hold.stamp == stamp; });
}

void Client::set_permits(const std::string& name, Mode mode, std::optional<std::uint32_t> permits) {
  change(SetPermits{name, mode, permits});
}

void Client::change(const ConfigChange& change) {
  config_ = backend_->change_config(change, soon()).value();
}

void Client::reload() { config_ = backend_->load_config(soon()).value(); }

}  // namespace lockset::test
