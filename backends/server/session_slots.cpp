#include "backends/server/session_slots.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/time_math.h"
#include "lockset/locks.h"

namespace lockset::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// The server ends a silent session this much later than its longest lease.
constexpr Duration later_than_lease = seconds(1);

Duration bound_for(Duration lease) {
  return std::max<Duration>(lease, seconds(1)) + later_than_lease;
}

bool conflict(const LockKey& wanted, const Slot::Use& held) {
  return !wanted.shared || !held.shared;
}

}  // namespace

Slots::Slots(Open open, std::string where, std::size_t most)
    : open_(std::move(open)), where_(std::move(where)), most_(most) {}

void Slots::tell_losses(std::function<void(Stamp)> lost) {
  const std::lock_guard lock(tell_mutex_);
  lost_ = std::move(lost);
}

void Slots::tell(const std::vector<Stamp>& lost) {
  if (lost.empty()) return;
  const std::lock_guard lock(tell_mutex_);
  for (const Stamp stamp : lost) {
    if (lost_) lost_(stamp);
  }
}

bool Slots::fits(const Slot& slot, std::span<const LockKey> keys) {
  return std::none_of(keys.begin(), keys.end(), [&](const LockKey& key) {
    const auto use = slot.keys.find(key.key);
    return use != slot.keys.end() && conflict(key, use->second);
  });
}

bool Slots::looks_sound(const Slot& slot, TimePoint now) {
  return now - slot.used < milliseconds(50) || !slot.session->hung_up();
}

Result<Slot*> Slots::open(Duration lease, TimePoint by) {
  Result<std::unique_ptr<Carrier>> session = open_(by);
  if (!session) return session.error();
  auto slot = std::make_unique<Slot>();
  slot->session = *std::move(session);
  slot->bound = bound_for(lease);
  if (!slot->session->end_after(slot->bound, by)) {
    return Error{Errc::unavailable, where_ + ": no answer in time"};
  }
  Slot* const result = slot.get();
  result->used = BootClock::now();
  const std::lock_guard lock(mutex_);
  slots_.push_front(std::move(slot));
  ring_if_earlier(TimePoint::min());  // the watcher looks at its socket from now on
  return result;
}

Result<std::optional<Slot*>> Slots::take_for(std::span<const LockKey> keys, Duration lease,
                                             TimePoint by) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const TimePoint now = BootClock::now();
    bool may_come = opening_ > 0;
    Slot* found = nullptr;
    for (const auto& slot : slots_) {
      if (!fits(*slot, keys)) continue;
      may_come = may_come || slot->taken || slot->stalled;
      if (slot->taken || slot->stalled || !looks_sound(*slot, now)) continue;
      found = slot.get();
      break;
    }
    if (found != nullptr) {
      found->taken = true;
      return std::optional<Slot*>(found);
    }
    if (slots_.size() + opening_ < most_) {
      ++opening_;
      lock.unlock();
      Result<Slot*> opened = open(lease, by);
      lock.lock();
      --opening_;
      changed_.notify_all();
      if (opened) return std::optional<Slot*>(*opened);
      // If the server accepts no more connections, the existing ones must be enough.
      if (!opened.error().retryable() || !may_come) return opened.error();
    }
    if (!may_come) return std::optional<Slot*>();
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, where_ +
                                          ": all sessions of this client are in use: raise pool= "
                                          "in the address"};
    }
    changed_.wait_until(lock, on_steady_clock(std::min(by, BootClock::now() + seconds(1))));
  }
}

Slot* Slots::take_free() {
  const std::lock_guard lock(mutex_);
  for (const auto& slot : slots_) {
    if (slot->taken || slot->stalled || slot->session->hung_up()) continue;
    slot->taken = true;
    return slot.get();
  }
  return nullptr;
}

Slot* Slots::take_empty(TimePoint by) {
  std::unique_lock lock(mutex_);
  for (const auto& slot : slots_) {
    if (slot->taken || slot->stalled || !slot->holds.empty() || slot->session->hung_up()) continue;
    slot->taken = true;
    return slot.get();
  }
  if (slots_.size() + opening_ + 1 >= most_) return nullptr;
  ++opening_;
  lock.unlock();
  Result<Slot*> opened = open(default_lease, by);
  lock.lock();
  --opening_;
  changed_.notify_all();
  return opened ? *opened : nullptr;
}

Result<Slot*> Slots::take_of(Stamp stamp, TimePoint by) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto hold = holds_.find(stamp);
    if (hold == holds_.end()) return nullptr;
    if (!hold->second.slot->taken) {
      hold->second.slot->taken = true;
      return hold->second.slot;
    }
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, where_ + ": the session of this hold is in use"};
    }
    changed_.wait_until(lock, on_steady_clock(by));
  }
}

std::unique_ptr<Slot> Slots::drop(Slot* slot, std::vector<Stamp>& lost) {
  const std::set<Stamp> stamps = slot->holds;
  for (const Stamp stamp : stamps) {
    static_cast<void>(remove_locked(stamp));
    lost.push_back(stamp);
  }
  const auto at = std::find_if(slots_.begin(), slots_.end(),
                               [&](const auto& each) { return each.get() == slot; });
  std::unique_ptr<Slot> dropped = std::move(*at);
  slots_.erase(at);
  return dropped;
}

void Slots::give_back(Slot* slot) {
  if (slot == nullptr) return;
  std::unique_ptr<Slot> dropped;
  std::vector<Stamp> lost;
  {
    const std::lock_guard lock(mutex_);
    slot->taken = false;
    slot->used = BootClock::now();
    if (std::exchange(slot->waits, false)) ring_if_earlier(TimePoint::min());
    slot->stalled = slot->session->owes();
    if (slot->session->outcome() == Carrier::Outcome::broken) {
      dropped = drop(slot, lost);
    } else if (slot->stalled) {
      ring_if_earlier(TimePoint::min());
    } else if (slots_.front().get() != slot) {
      // The one that was used last is used next.
      const auto at = std::find_if(slots_.begin(), slots_.end(),
                                   [&](const auto& each) { return each.get() == slot; });
      slots_.splice(slots_.begin(), slots_, at);
    }
    changed_.notify_all();
  }
  tell(lost);
  // It ends here: then the server frees what they held.
}

void Slots::abandon(Slot* slot) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    slot->session->give_up();
  }
  give_back(slot);
}

void Slots::close() {
  std::list<std::unique_ptr<Slot>> all;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  holds_.clear();
  tokens_.clear();
  keys_.clear();
  all.swap(slots_);
}

bool Slots::begins_to_wait(Slot& slot) {
  const std::lock_guard lock(mutex_);
  const auto waiting =
      std::count_if(slots_.begin(), slots_.end(), [](const auto& each) { return each->waits; });
  if (!slot.holds.empty() || static_cast<std::size_t>(waiting) + 1 >= most_) return false;
  slot.waits = true;
  return true;
}

bool Slots::keep_for(Slot& slot, Duration lease, TimePoint by) {
  const Duration wanted = bound_for(lease);
  {
    const std::lock_guard lock(mutex_);
    const bool too_long = slot.holds.empty() && wanted < slot.bound / 2;
    if (wanted <= slot.bound && !too_long) return true;
  }
  if (!slot.session->end_after(wanted, by)) return false;
  const std::lock_guard lock(mutex_);
  slot.bound = wanted;
  return true;
}

std::vector<LockKey> Slots::missing(const Slot& slot, std::span<const LockKey> keys) {
  const std::lock_guard lock(mutex_);
  std::vector<LockKey> result;
  for (const LockKey& key : keys) {
    if (!slot.keys.contains(key.key)) result.push_back(key);
  }
  return result;
}

void Slots::add(SessionHold hold) {
  const std::lock_guard lock(mutex_);
  for (const LockKey& key : hold.keys) {
    Slot::Use& use = hold.slot->keys[key.key];
    ++use.holds;
    use.shared = key.shared;
    keys_[key.key].insert(hold.stamp);
  }
  hold.slot->holds.insert(hold.stamp);
  tokens_[hold.token] = hold.stamp;
  added_ = true;
  // Those that last are published soon, for the case that their client stops.
  ring_if_earlier(std::min(hold.ends, BootClock::now() + seconds(1)));
  const Stamp stamp = hold.stamp;
  holds_.insert_or_assign(stamp, std::move(hold));
}

std::optional<std::vector<LockKey>> Slots::remove_locked(Stamp stamp) {
  const auto found = holds_.find(stamp);
  if (found == holds_.end()) return {};
  const SessionHold& hold = found->second;
  std::vector<LockKey> free;
  for (const LockKey& key : hold.keys) {
    const auto use = hold.slot->keys.find(key.key);
    if (use != hold.slot->keys.end() && --use->second.holds == 0) {
      hold.slot->keys.erase(use);
      free.push_back(key);
    }
    const auto on_key = keys_.find(key.key);
    if (on_key != keys_.end()) {
      on_key->second.erase(stamp);
      if (on_key->second.empty()) keys_.erase(on_key);
    }
  }
  hold.slot->holds.erase(stamp);
  tokens_.erase(hold.token);
  holds_.erase(found);
  return free;
}

std::optional<std::vector<LockKey>> Slots::remove(Stamp stamp) {
  const std::lock_guard lock(mutex_);
  return remove_locked(stamp);
}

Result<bool> Slots::end(Stamp stamp, TimePoint by) {
  const Result<Slot*> taken = take_of(stamp, by);
  if (!taken) return taken.error();
  Slot* const slot = *taken;
  if (slot == nullptr) return false;
  if (!slot->session->settle(by) && slot->session->outcome() != Carrier::Outcome::broken) {
    give_back(slot);
    return Error{Errc::unavailable, where_ + ": the session does not answer"};
  }
  bool live = false;
  {
    const std::lock_guard lock(mutex_);
    const auto hold = holds_.find(stamp);
    live = hold != holds_.end() && hold->second.ends > BootClock::now();
  }
  const std::optional<std::vector<LockKey>> keys = remove(stamp);
  const bool done = keys && slot->session->unlock(*keys, by);
  give_back(slot);
  if (keys && !done) {
    return Error{Errc::indeterminate, where_ + ": no answer to a release"};
  }
  return live;
}

Result<std::set<Stamp>> Slots::end_all(const std::set<Stamp>& stamps, TimePoint by) {
  std::set<Stamp> ended;
  std::optional<Error> failure;
  std::set<Stamp> left = stamps;
  while (!left.empty()) {
    const Stamp first = *left.begin();
    const Result<Slot*> taken = take_of(first, by);
    if (!taken) return taken.error();
    Slot* const slot = *taken;
    if (slot == nullptr) {
      left.erase(first);
      continue;
    }
    std::vector<LockKey> keys;
    std::set<Stamp> here;
    {
      const std::lock_guard lock(mutex_);
      const TimePoint now = BootClock::now();
      for (const Stamp stamp : left) {
        const auto hold = holds_.find(stamp);
        if (hold == holds_.end() || hold->second.slot != slot) continue;
        if (hold->second.ends > now) ended.insert(stamp);
        here.insert(stamp);
        const std::optional<std::vector<LockKey>> free = remove_locked(stamp);
        keys.insert(keys.end(), free->begin(), free->end());
      }
    }
    for (const Stamp stamp : here) left.erase(stamp);
    if (!slot->session->unlock(keys, by)) {
      failure = Error{Errc::indeterminate, where_ + ": no answer to a release"};
    }
    give_back(slot);
  }
  if (failure) return *failure;
  return ended;
}

std::optional<bool> Slots::belongs_to(Stamp stamp, std::string_view app) {
  const std::lock_guard lock(mutex_);
  const auto hold = holds_.find(stamp);
  if (hold == holds_.end()) return {};
  return hold->second.owner.app == app;
}

bool Slots::knows(const Token& token) {
  const std::lock_guard lock(mutex_);
  return tokens_.contains(token);
}

std::optional<SessionHold> Slots::find(Stamp stamp) {
  const std::lock_guard lock(mutex_);
  const auto hold = holds_.find(stamp);
  if (hold == holds_.end()) return {};
  return hold->second;
}

std::optional<SessionHold> Slots::find(const Token& token) {
  const std::lock_guard lock(mutex_);
  const auto stamp = tokens_.find(token);
  if (stamp == tokens_.end()) return {};
  return holds_.at(stamp->second);
}

std::optional<SessionHold> Slots::on_key(std::int64_t key) {
  const std::lock_guard lock(mutex_);
  const auto stamps = keys_.find(key);
  if (stamps == keys_.end()) return {};
  for (const Stamp stamp : stamps->second) {
    const SessionHold& hold = holds_.at(stamp);
    if (hold.ends > BootClock::now()) return hold;
  }
  return {};
}

std::optional<LockKey> Slots::excluded(std::span<const LockKey> keys) {
  const std::lock_guard lock(mutex_);
  const TimePoint now = BootClock::now();
  for (const LockKey& key : keys) {
    const auto stamps = keys_.find(key.key);
    if (stamps == keys_.end()) continue;
    for (const Stamp stamp : stamps->second) {
      const SessionHold& hold = holds_.at(stamp);
      const auto held = std::find_if(hold.keys.begin(), hold.keys.end(),
                                     [&](const LockKey& each) { return each.key == key.key; });
      if (hold.ends > now && (!held->shared || !key.shared)) return key;
    }
  }
  return {};
}

std::vector<Stamp> Slots::expired(TimePoint now, std::span<const LockKey> keys) {
  const std::lock_guard lock(mutex_);
  std::vector<Stamp> result;
  for (const LockKey& key : keys) {
    const auto stamps = keys_.find(key.key);
    if (stamps == keys_.end()) continue;
    for (const Stamp stamp : stamps->second) {
      if (holds_.at(stamp).ends <= now) result.push_back(stamp);
    }
  }
  return result;
}

std::vector<SessionHold> Slots::all() {
  const std::lock_guard lock(mutex_);
  std::vector<SessionHold> result;
  result.reserve(holds_.size());
  for (const auto& [stamp, hold] : holds_) result.push_back(hold);
  return result;
}

void Slots::extend(Stamp stamp, TimePoint ends) {
  const std::lock_guard lock(mutex_);
  const auto hold = holds_.find(stamp);
  if (hold != holds_.end()) hold->second.ends = std::max(hold->second.ends, ends);
}

bool Slots::any_unlisted() {
  const std::lock_guard lock(mutex_);
  return std::any_of(holds_.begin(), holds_.end(),
                     [](const auto& each) { return !each.second.listed; });
}

void Slots::listed(std::span<const Stamp> stamps) {
  const std::lock_guard lock(mutex_);
  for (const Stamp stamp : stamps) {
    const auto hold = holds_.find(stamp);
    if (hold != holds_.end()) hold->second.listed = true;
  }
}

// --- for the watcher ---

std::vector<Slots::Watched> Slots::watched() {
  const std::lock_guard lock(mutex_);
  std::vector<Watched> result;
  for (const auto& slot : slots_) {
    if (slot->waits) continue;
    result.push_back({slot.get(), slot->session->fd(), slot->stalled && !slot->taken});
  }
  return result;
}

TimePoint Slots::tend(TimePoint now) {
  std::vector<std::unique_ptr<Slot>> dropped;
  std::vector<Stamp> lost;
  std::vector<Stamp> over;
  std::vector<Slot*> settle;
  TimePoint next = TimePoint::max();
  {
    const std::lock_guard lock(mutex_);
    // What is added from here on rings.
    next_look_ = TimePoint::max();
    // A client that takes and releases in quick succession must not wake the watcher each time.
    if (std::exchange(added_, false)) next = now + seconds(1);
    std::vector<Slot*> every;
    for (const auto& slot : slots_) every.push_back(slot.get());
    for (Slot* const slot : every) {
      if (slot->taken) continue;
      const TimePoint tired = later(slot->used, slot->bound / 2);
      // A stalled one is ended here when the last of its holds has ended anyway.
      TimePoint last = TimePoint::min();
      for (const Stamp stamp : slot->holds) last = std::max(last, holds_.at(stamp).ends);
      const bool silent = slot->stalled && last <= now && tired <= now;
      if (slot->session->hung_up() || silent || (slot->holds.empty() && tired <= now)) {
        dropped.push_back(drop(slot, lost));
        continue;
      }
      if (slot->stalled) {
        slot->taken = true;
        settle.push_back(slot);
      }
      if (slot->holds.empty() || slot->stalled) next = std::min(next, tired);
    }
    for (const auto& [stamp, hold] : holds_) {
      if (hold.ends <= now) {
        if (!hold.slot->stalled) over.push_back(stamp);
      } else {
        next = std::min(next, hold.ends);
      }
    }
  }
  tell(lost);
  dropped.clear();  // ends them: then the server frees what was held
  for (Slot* const slot : settle) {
    static_cast<void>(slot->session->settle(now));
    give_back(slot);
  }
  for (const Stamp stamp : over) {
    const Result<bool> ended = end(stamp, now + seconds(1));
    if (!ended) next = std::min(next, now + milliseconds(100));
  }
  return next;
}

void Slots::answer_bell() noexcept {
  eventfd_t count = 0;
  static_cast<void>(::eventfd_read(bell_.fd(), &count));
}

void Slots::sleeps_until(TimePoint until) {
  const std::lock_guard lock(mutex_);
  next_look_ = std::min(next_look_, until);
}

void Slots::ring_if_earlier(TimePoint at) {
  if (at >= next_look_) return;
  next_look_ = at;
  bell_.set();
}

void Slots::end_tending() { bell_.set(); }

}  // namespace lockset::server
