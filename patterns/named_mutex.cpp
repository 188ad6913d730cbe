#include "lockset/patterns/named_mutex.h"

#include <algorithm>
#include <utility>

#include "patterns/thread_number.h"

namespace lockset {

namespace {

constexpr Duration single_try{-1};

LockSet all_as(Mode mode, const std::vector<std::string>& names) {
  std::vector<LockRequest> wanted;
  wanted.reserve(names.size());
  for (const std::string& name : names) wanted.push_back({name, mode});
  return LockSet::make(std::move(wanted)).value();
}

// Thrown as the library throws: by value().
void refuse(Errc code, std::string message) { Status(Error{code, std::move(message)}).value(); }

}  // namespace

NamedMutex::NamedMutex(Locks& locks, std::vector<std::string> names)
    : locks_(locks), write_(all_as(Mode::write, names)), read_(all_as(Mode::read, names)) {}

void NamedMutex::lock() { static_cast<void>(take(Mode::write, forever)); }

bool NamedMutex::try_lock() { return take(Mode::write, single_try); }

void NamedMutex::lock_shared() { static_cast<void>(take(Mode::read, forever)); }

bool NamedMutex::try_lock_shared() { return take(Mode::read, single_try); }

void NamedMutex::unlock() { give_back(Mode::write); }

void NamedMutex::unlock_shared() { give_back(Mode::read); }

bool NamedMutex::valid() const {
  const std::lock_guard lock(mutex_);
  const Locked* const found = mine();
  return found != nullptr && found->hold.valid();
}

Stamp NamedMutex::stamp() const {
  const std::lock_guard lock(mutex_);
  const Locked* const found = mine();
  return found != nullptr ? found->hold.stamp() : Stamp{};
}

std::stop_token NamedMutex::lost() const {
  const std::lock_guard lock(mutex_);
  const Locked* const found = mine();
  return found != nullptr ? found->hold.lost() : std::stop_token{};
}

bool NamedMutex::take(Mode mode, Duration wait) {
  const LockSet& set = mode == Mode::write ? write_ : read_;
  {
    const std::lock_guard lock(mutex_);
    if (mine() != nullptr) {
      refuse(Errc::invalid, "this thread has locked " + in_quotes(set.items().front().name) +
                                " already: it would wait for itself");
    }
  }
  Hold hold;
  if (wait == single_try) {
    std::optional<Hold> tried = locks_.try_acquire(set).value();
    if (!tried) return false;
    hold = std::move(*tried);
  } else {
    Result<Hold> granted = locks_.acquire(set, {.wait = wait});
    if (!granted && granted.error().code == Errc::timeout) return false;
    hold = std::move(granted).value();
  }
  const std::lock_guard lock(mutex_);
  locked_.push_back({thread_number(), mode, std::move(hold)});
  return true;
}

void NamedMutex::give_back(Mode mode) {
  Hold ending;  // is released without the mutex: that asks the store
  {
    const std::lock_guard lock(mutex_);
    const Locked* const found = mine();
    if (found == nullptr || found->mode != mode) {
      refuse(Errc::not_held, "this thread has not locked " +
                                 in_quotes(write_.items().front().name) + " as " +
                                 std::string(to_string(mode)));
    }
    const auto at = locked_.begin() + (found - locked_.data());
    ending = std::move(at->hold);
    locked_.erase(at);
  }
}

const NamedMutex::Locked* NamedMutex::mine() const {
  const auto found = std::ranges::find(locked_, thread_number(), &Locked::thread);
  return found == locked_.end() ? nullptr : &*found;
}

}  // namespace lockset
