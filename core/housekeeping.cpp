// The housekeeper of a Keeper: what is asked of the store in the background besides
// renewals. One call after the other, on a thread of its own, so that one that hangs keeps
// no renewal waiting.
#include <algorithm>
#include <utility>

#include "core/keeper.h"
#include "core/time_math.h"

namespace lockset {

void Keeper::plan_housekeeping(TimePoint now) {
  next_refresh_ = later(now, settings_.refresh_config);
  next_sweep_ = now + settings_.sweep_every;
}

void Keeper::tidy_later(std::variant<Token, Stamp> what, TimePoint until) {
  const TimePoint now = BootClock::now();
  const std::lock_guard lock(mutex_);
  chores_.add({what, until, now});
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

// The configuration first: chores may be many, and it tells that an application is superseded.
std::function<void()> Keeper::next_work(TimePoint now) {
  if (!holds_.empty() && now >= next_refresh_) return [this] { refresh(); };
  if (std::optional<Chore> chore = chores_.take_due(now)) {
    return [this, chore = *chore] { do_chore(chore); };
  }
  if (!holds_.empty() && now >= next_sweep_) {
    next_sweep_ = now + settings_.sweep_every;
    return [this] { sweep(); };
  }
  return {};
}

void Keeper::do_chore(const Chore& chore) {
  const TimePoint by = later(BootClock::now(), settings_.io_timeout);
  std::optional<Stamp> stamp;
  if (const Token* token = std::get_if<Token>(&chore.what)) {
    Result<std::optional<Grant>> found = backend_.resolve(*token, by);
    if (found && *found) stamp = (*found)->stamp;
  } else {
    stamp = std::get<Stamp>(chore.what);
  }
  if (stamp && backend_.release(*stamp, owner_.app, by)) return;
  // Not granted so far, or not reached: a late request may still arrive.
  const std::lock_guard lock(mutex_);
  chores_.again(chore, BootClock::now());
}

void Keeper::refresh() {
  const TimePoint by = later(BootClock::now(), settings_.io_timeout);
  if (Result<SpaceConfig> config = backend_.load_config(by)) take_config(std::move(*config));
  // From its end on: with a slow store the chores must have their turn, too.
  const std::lock_guard lock(mutex_);
  next_refresh_ = later(BootClock::now(), settings_.refresh_config);
}

// For the other clients; if it fails, the next one of them tries again.
void Keeper::sweep() {
  static_cast<void>(backend_.sweep(later(BootClock::now(), settings_.io_timeout)).ok());
}

}  // namespace lockset
