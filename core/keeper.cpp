#include "core/keeper.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "core/register_again.h"
#include "core/shortage.h"
#include "core/time_math.h"

namespace lockset {
namespace {

using std::chrono::seconds;

// A thread that found nothing to do stays ready for this long: a program that takes and releases
// locks in quick succession must not pay for waking it each time.
constexpr Duration linger = seconds(1);
// A test's clock does not announce that it was moved: read it this often.
constexpr Duration look_at_clock = std::chrono::milliseconds(5);

}  // namespace

bool forgets_epoch(const SpaceConfig& config, const Owner& owner) {
  const auto epoch = config.epochs.find(owner.app);
  return owner.epoch > 0 && (epoch == config.epochs.end() || epoch->second < owner.epoch);
}

Keeper::Keeper(Backend& backend, const Owner& owner, ConfigCache& config, Settings settings)
    : backend_(backend),
      owner_(owner),
      config_(config),
      settings_(std::move(settings)),
      observing_(backend.traits().observing) {
  backend_.watch_losses([this](Stamp stamp) { ended_in_store(stamp); });
}

Keeper::~Keeper() { stop(); }

Status Keeper::start_threads() {
  const std::lock_guard lock(mutex_);
  if (stopping_) return Error{Errc::invalid, "the lock manager is closed"};
  if (watchdog_.joinable()) return {};
  try {
    if (!renewer_sleep_) renewer_sleep_ = std::make_unique<Sleep>();
    if (!housekeeper_sleep_) housekeeper_sleep_ = std::make_unique<Sleep>();
    if (!watchdog_sleep_) watchdog_sleep_ = std::make_unique<Sleep>();
    plan_housekeeping(BootClock::now());
    if (!renewer_.joinable()) renewer_.start([this] { renewer(); });
    if (!housekeeper_.joinable()) housekeeper_.start([this] { housekeeper(); });
    watchdog_.start([this] { watchdog(); });
    running_ = true;
  } catch (const std::system_error& error) {
    return Error{Errc::unavailable, "can't start the threads that keep locks alive: " +
                                        text_of_errno(error.code().value())};
  }
  return {};
}

void Keeper::ended_in_store(Stamp stamp) {
  const std::shared_ptr<HoldState> hold = find(stamp);
  if (hold && hold->denied()) announce(hold);
}

void Keeper::lose_converted(Stamp stamp) {
  const std::shared_ptr<HoldState> hold = find(stamp);
  if (hold && hold->lose(LostReason::gone)) announce(hold);
}

void Keeper::stop() {
  backend_.watch_losses({});
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    running_ = false;
    for (Sleep* sleep : {renewer_sleep_.get(), housekeeper_sleep_.get(), watchdog_sleep_.get()}) {
      if (sleep) sleep->alarm.ring();
    }
  }
  if (renewer_.joinable()) renewer_.join();
  if (housekeeper_.joinable()) housekeeper_.join();
  if (watchdog_.joinable()) watchdog_.join();
  // What was noticed while it ended: each loss is told.
  Holds untold;
  {
    const std::lock_guard lock(mutex_);
    untold = std::exchange(losses_, {});
  }
  tell_losses(untold);
}

void Keeper::tell(const Event& event) const noexcept {
  if (settings_.observer) settings_.observer->on_event(event);
}

void Keeper::ring_if_earlier(Sleep* sleep, TimePoint at) {
  if (!sleep) return;  // not started yet: the thread looks at everything when it starts
  sleep->busy_since = true;
  if (at < sleep->until) {
    sleep->until = at;
    sleep->alarm.ring();
  }
}

void Keeper::sleep_on(Sleep& sleep, TimePoint until) const {
  const bool rings = settings_.clock.is_machines() || until == TimePoint::max();
  sleep.alarm.wait_until(rings ? until : BootClock::now() + look_at_clock);
}

TimePoint Keeper::next_look(Sleep& sleep, TimePoint soonest, TimePoint now) {
  const bool idle = soonest == TimePoint::max();
  sleep.until = idle && sleep.busy_since ? now + linger : soonest;
  sleep.busy_since = false;
  return sleep.until;
}

void Keeper::add(const std::shared_ptr<HoldState>& hold, const ClockReading& reading) {
  const Duration margin = margin_of(hold->granted_lease());
  std::optional<Duration> step;
  {
    const std::lock_guard lock(mutex_);
    holds_.emplace(hold->stamp(), hold);
    ring_if_earlier(renewer_sleep_.get(), hold->renew_at());
    ring_if_earlier(watchdog_sleep_.get(), hold->valid_until());
    ring_if_earlier(housekeeper_sleep_.get(), next_refresh_);
    step = clock_watch_.observe(reading, margin);
  }
  tell_of_step(step);
}

void Keeper::set_app_hold(std::shared_ptr<HoldState> hold) {
  const std::lock_guard lock(mutex_);
  app_hold_ = std::move(hold);
}

std::shared_ptr<HoldState> Keeper::find(Stamp stamp) const {
  const std::lock_guard lock(mutex_);
  const auto hold = holds_.find(stamp);
  return hold == holds_.end() ? nullptr : hold->second;
}

std::shared_ptr<HoldState> Keeper::remove(Stamp stamp) {
  const std::lock_guard lock(mutex_);
  const auto hold = holds_.find(stamp);
  if (hold == holds_.end()) return nullptr;
  std::shared_ptr<HoldState> result = std::move(hold->second);
  holds_.erase(hold);
  return result;
}

std::vector<std::shared_ptr<HoldState>> Keeper::remove_all() {
  const std::lock_guard lock(mutex_);
  Holds result;
  result.reserve(holds_.size());
  for (auto& [stamp, hold] : holds_) result.push_back(std::move(hold));
  holds_.clear();
  app_hold_.reset();
  return result;
}

void Keeper::announce(const std::shared_ptr<HoldState>& hold) {
  const std::lock_guard lock(mutex_);
  losses_.push_back(hold);
  ring_if_earlier(watchdog_sleep_.get(), TimePoint::min());
}

// --- the watchdog ---

void Keeper::watchdog() {
  for (;;) {
    TimePoint until;
    Holds found;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      const TimePoint now = settings_.clock.now();
      TimePoint soonest = TimePoint::max();
      found = std::exchange(losses_, {});
      // First, because all other holds end with it, even those granted since then.
      if (app_hold_ && app_hold_->tick()) found.push_back(app_hold_);
      const bool app_lost = app_hold_ && app_hold_->lost_reason() != LostReason::not_lost;
      for (const auto& [stamp, hold] : holds_) {
        if (hold->renew_at() == TimePoint::max()) continue;  // lost or released: nothing to watch
        if (hold->tick() || (app_lost && hold->lose(LostReason::app_lost))) {
          found.push_back(hold);
        } else {
          soonest = std::min(soonest, hold->valid_until());
        }
      }
      until = next_look(*watchdog_sleep_, soonest, now);
    }
    tell_losses(found);
    // The callbacks of lost() take time, and other ends may have moved meanwhile: look again first.
    if (found.empty()) sleep_on(*watchdog_sleep_, until);
  }
}

void Keeper::tell_losses(const Holds& lost) const {
  for (const auto& hold : lost) {
    tell({.kind = Event::Kind::lost,
          .stamp = hold->stamp(),
          .items = hold->set().items(),
          .detail = to_string(hold->lost_reason())});
    // Lockset does not release it in the store: the margin that is left there gives the work time
    // to stop.
    hold->announce_loss();
  }
}

// --- the renewer ---

void Keeper::renewer() {
  for (;;) {
    TimePoint until;
    Holds due;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      const TimePoint now = settings_.clock.now();
      TimePoint soonest = TimePoint::max();
      due = take_due(now, soonest);
      until = next_look(*renewer_sleep_, soonest, now);
    }
    if (due.empty()) {
      sleep_on(*renewer_sleep_, until);
    } else {
      renew(due);
    }
  }
}

// If one hold is due, those that are nearly due are renewed with it: many holds, few round trips.
Keeper::Holds Keeper::take_due(TimePoint now, TimePoint& next) {
  Holds due;
  bool any_due = false;
  for (const auto& [stamp, hold] : holds_) {
    const TimePoint at = hold->renew_at();
    if (at == TimePoint::max()) continue;
    any_due = any_due || at <= now;
    if (at > now + std::min(hold->lease(), default_lease) / 12) {
      next = std::min(next, at);
    } else {
      due.push_back(hold);
    }
  }
  if (any_due) return due;
  for (const auto& hold : due) next = std::min(next, hold->renew_at());
  return {};
}

void Keeper::renew(const Holds& due) {
  const std::size_t chunk = std::max<std::size_t>(1, backend_.traits().renew_chunk);
  for (std::size_t at = 0; at < due.size() && !stopping_; at += chunk) {
    static_cast<void>(
        renew_chunk(std::span(due).subspan(at, std::min(chunk, due.size() - at))).ok());
  }
}

Status Keeper::renew_now(HoldState& hold) {
  const std::shared_ptr<HoldState> kept = find(hold.stamp());
  if (!kept) {
    return Error{Errc::not_held,
                 "stamp " + std::to_string(hold.stamp().value) + " is not held: released"};
  }
  // A hold that was given up here is not renewed in the store, though the store may still have it.
  if (kept->unexpired()) {
    if (Status status = renew_chunk({&kept, 1}); !status) return status;
    if (kept->unexpired()) return {};
  }
  return Error{Errc::not_held, "stamp " + std::to_string(hold.stamp().value) +
                                   " is not held: lost (" +
                                   std::string(to_string(kept->lost_reason())) + ")"};
}

Status Keeper::renew_chunk(std::span<const std::shared_ptr<HoldState>> holds) {
  std::vector<RenewRequest> requests;
  requests.reserve(holds.size());
  for (const auto& hold : holds) requests.push_back(hold->renew_request());

  const TimePoint sent = settings_.clock.now();
  const TimePoint asked = settings_.clock.is_machines() ? sent : BootClock::now();
  Result<RenewReply> reply = backend_.renew(owner_, requests, later(asked, settings_.io_timeout));
  const TimePoint received = settings_.clock.now();
  if (reply && reply->renewals.size() != holds.size()) {
    reply = Error{Errc::internal, "the store answered for another number of holds than was asked"};
  }
  Holds forgotten;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const auto& hold = holds[i];
    bool newly_lost = false;
    if (!reply || !reply->answered(i)) {
      newly_lost = hold->failed();
      tell_of_renewal(*hold, Event::Kind::renewal_failed, received - sent,
                      reply ? "one of the stores did not answer" : reply.error().message);
    } else if (const auto& renewal = reply->renewals[i]) {
      newly_lost = hold->renewed(sent, renewal->lease);
      tell_of_renewal(*hold, Event::Kind::renewed, received - sent, {});
      if (hold->lost_reason() != LostReason::not_lost) give_back(*hold, renewal->lease);
    } else if (reply->may_be_forgotten(i)) {
      forgotten.push_back(hold);
    } else {
      newly_lost = hold->denied();
    }
    if (newly_lost) announce(hold);
  }
  if (!reply) return std::move(reply).error();

  const Duration margin = margin_of(holds.front()->lease());
  std::optional<Duration> step;
  {
    const std::lock_guard lock(mutex_);
    step = clock_watch_.observe({sent, received, reply->store_time_us}, margin);
  }
  tell_of_step(step);
  return register_chunk(forgotten);
}

Status Keeper::register_chunk(std::span<const std::shared_ptr<HoldState>> holds) {
  if (holds.empty()) return {};
  SpaceConfig config = *config_.get();
  const std::int64_t version = config.version;
  std::optional<Error> trouble;
  for (const auto& hold : holds) {
    const TimePoint sent = settings_.clock.now();
    if (trouble) {
      // The others would wait as long for the store, and as vainly. They are tried again soon.
      if (hold->failed()) announce(hold);
      continue;
    }
    // Its holder may have ended it, or its lease may have ended, while the renewal was under way.
    if (!hold->unexpired()) {
      if (hold->tick()) announce(hold);
      continue;
    }
    Result<std::optional<Renewal>> outcome =
        register_again(backend_, owner_, hold->renew_request(), config,
                       later(BootClock::now(), settings_.io_timeout));
    const Duration took = settings_.clock.now() - sent;
    bool newly_lost = false;
    if (!outcome) {
      trouble = std::move(outcome).error();
      newly_lost = hold->failed();
      tell_of_renewal(*hold, Event::Kind::renewal_failed, took, trouble->message);
    } else if (*outcome) {
      newly_lost = hold->renewed(sent, (*outcome)->lease);
      tell_of_renewal(*hold, Event::Kind::renewed, took,
                      "the store had forgotten it: registered again");
      // Its release may have come before this, and found nothing.
      const bool ended = hold->lost_reason() != LostReason::not_lost || hold->released();
      if (ended) give_back(*hold, (*outcome)->lease);
    } else {
      newly_lost = hold->denied();
    }
    if (newly_lost) announce(hold);
  }
  if (config.version != version) take_config(std::move(config));
  return trouble ? Status(*std::move(trouble)) : Status();
}

void Keeper::tell_of_renewal(const HoldState& hold, Event::Kind kind, Duration took,
                             std::string_view detail) const {
  tell({.kind = kind,
        .stamp = hold.stamp(),
        .items = hold.set().items(),
        .took = took,
        .detail = detail});
}

void Keeper::give_back(const HoldState& hold, Duration lease) {
  tidy_later(hold.known(), later(BootClock::now(), lease));
}

void Keeper::tell_of_step(std::optional<Duration> step) const {
  if (!step) return;
  const std::string detail = "the store's clock went " + format_duration(std::chrono::abs(*step)) +
                             (*step > Duration::zero() ? " ahead" : " back");
  tell({.kind = Event::Kind::clock_stepped, .detail = detail});
}

void Keeper::take_config(SpaceConfig config) {
  const auto epoch = config.epochs.find(owner_.app);
  const bool superseded =
      owner_.epoch > 0 && epoch != config.epochs.end() && epoch->second > owner_.epoch;
  const bool forgotten = forgets_epoch(config, owner_);
  if (config_.replace(std::move(config))) tell({.kind = Event::Kind::config_changed});
  if (!superseded && !forgotten) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [stamp, hold] : holds_) {
    const LostReason why = superseded          ? LostReason::superseded
                           : hold == app_hold_ ? LostReason::gone
                                               : LostReason::app_lost;
    if (!hold->lose(why)) continue;
    losses_.push_back(hold);
    ring_if_earlier(watchdog_sleep_.get(), TimePoint::min());
  }
}

}  // namespace lockset
