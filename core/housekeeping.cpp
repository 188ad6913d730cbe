// The housekeeper of a Keeper: all background calls to the store except renewals. It makes one call
// after the other on a separate thread, so that a hanging call delays no renewal.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/keeper.h"
#include "core/time_math.h"

namespace lockset {

void Keeper::plan_housekeeping(TimePoint now) {
  next_refresh_ = later(now, settings_.refresh_config);
  next_sweep_ = now + settings_.sweep_every;
  next_trace_sweep_ = next_sweep_;
}

void Keeper::tidy_later(KnownHold hold, TimePoint until, Stamp replaces) {
  const TimePoint now = BootClock::now();
  const std::lock_guard lock(mutex_);
  chores_.add({std::move(hold), until, now, replaces});
  ring_if_earlier(housekeeper_sleep_.get(), now);
}

void Keeper::housekeeper() {
  for (;;) {
    TimePoint until;
    std::function<void()> work;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      const TimePoint now = BootClock::now();
      work = next_work(now);
      TimePoint soonest = chores_.next();
      if (!holds_.empty()) soonest = std::min(soonest, next_refresh_);
      until = next_look(*housekeeper_sleep_, soonest, now);
    }
    if (work) {
      work();
    } else {
      housekeeper_sleep_->alarm.wait_until(until);
    }
  }
}

// The configuration comes first: there may be many chores, and it shows that an application is
// superseded.
std::function<void()> Keeper::next_work(TimePoint now) {
  if (!holds_.empty() && now >= next_refresh_) return [this] { refresh(); };
  if (std::optional<Chore> chore = chores_.take_due(now)) {
    return [this, chore = *std::move(chore)] {
      do_chore(chore, later(BootClock::now(), settings_.io_timeout));
    };
  }
  if (!holds_.empty() && now >= next_sweep_) {
    next_sweep_ = now + settings_.sweep_every;
    return [this] { sweep(); };
  }
  return {};
}

void Keeper::tidy_at_last(TimePoint by) {
  std::vector<Chore> endless;
  {
    const std::lock_guard lock(mutex_);
    endless = chores_.take_endless();
  }
  for (const Chore& chore : endless) {
    if (BootClock::now() >= by) return;
    do_chore(chore, by);
  }
}

void Keeper::do_chore(const Chore& chore, TimePoint by) {
  HoldRef hold = chore.hold.ref();
  if (!hold.stamp) {
    const Result<std::optional<Grant>> found = backend_.resolve(hold, by);
    if (found && *found) hold.stamp = (*found)->stamp;
    if (hold.stamp && chore.replaces) lose_converted(chore.replaces);
  }
  if (hold.stamp && backend_.release(hold, owner_.app, by)) return;
  // Not granted so far, or the store was not reached: a late request may still arrive.
  const std::lock_guard lock(mutex_);
  chores_.again(chore, BootClock::now());
}

void Keeper::refresh() {
  const TimePoint by = later(BootClock::now(), settings_.io_timeout);
  if (Result<SpaceConfig> config = backend_.load_config(by)) take_config(std::move(*config));
  // Counted from the end of this refresh: with a slow store the chores need their turn, too.
  const std::lock_guard lock(mutex_);
  next_refresh_ = later(BootClock::now(), settings_.refresh_config);
}

// Sweeps for all clients; if it fails, the next one tries again.
void Keeper::sweep() {
  static_cast<void>(backend_.sweep(later(BootClock::now(), settings_.io_timeout)).ok());
  const TimePoint now = BootClock::now();
  if (!observing_ || now < next_trace_sweep_) return;
  const TimePoint by = later(now, settings_.io_timeout);
  static_cast<void>(backend_.sweep_traces(trace_lifetime + trace_grain, by).ok());
  next_trace_sweep_ = now + settings_.sweep_traces_every;
}

}  // namespace lockset
