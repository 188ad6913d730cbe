#include "backends/postgresql/session_line.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/time_math.h"

namespace lockset::postgresql {

bool SessionLine::ask(const void* waiter, std::span<const LockKey> wanted) {
  const std::lock_guard lock(mutex_);
  if (waiter_ != nullptr || held_) return false;
  waiter_ = waiter;
  wanted_ = line_notice;
  for (const LockKey& key : wanted) {
    wanted_ += ' ' + std::to_string(key.key);
    if (key.shared) wanted_ += 's';
  }
  return true;
}

bool SessionLine::is_for(const void* waiter) {
  const std::lock_guard lock(mutex_);
  return waiter_ == waiter;
}

bool SessionLine::leave(const void* waiter) {
  const std::lock_guard lock(mutex_);
  if (waiter_ != waiter) return false;
  waiter_ = nullptr;
  wanted_.clear();
  return held_;
}

std::string SessionLine::to_take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(wanted_, {});
}

bool SessionLine::to_give_back(TimePoint now) {
  const std::lock_guard lock(mutex_);
  return held_ && (waiter_ == nullptr || until_ <= now);
}

void SessionLine::taken(bool done, TimePoint now) {
  const std::lock_guard lock(mutex_);
  held_ = done;
  until_ = later(now, lasts);
  // Another client's waiter has the place: this one asks again when it is beaten again.
  if (!done) waiter_ = nullptr;
}

void SessionLine::given_back() {
  const std::lock_guard lock(mutex_);
  held_ = false;
  waiter_ = nullptr;
}

TimePoint SessionLine::due() {
  const std::lock_guard lock(mutex_);
  return held_ ? until_ : TimePoint::max();
}

void SessionLine::heard(std::string_view notice, TimePoint now) {
  std::vector<LockKey> keys;
  const char* at = notice.data();
  const char* const end = at + notice.size();
  while (at != end) {
    if (*at == ' ') ++at;
    LockKey key;
    const auto number = std::from_chars(at, end, key.key);
    if (number.ec != std::errc()) break;
    at = number.ptr;
    if (at != end && *at == 's') {
      key.shared = true;
      ++at;
    }
    keys.push_back(key);
  }
  const std::lock_guard lock(mutex_);
  notice_ = std::move(keys);
  lapses_ = later(now, lasts);
  any_notice_ = !notice_.empty();
}

std::optional<SessionLine::Notice> SessionLine::before(std::span<const LockKey> keys,
                                                       TimePoint now) {
  if (!any_notice_) return {};
  const std::lock_guard lock(mutex_);
  if (lapses_ <= now) {
    any_notice_ = false;
    return {};
  }
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const LockKey& key) {
    return std::any_of(notice_.begin(), notice_.end(), [&](const LockKey& wanted) {
      return wanted.key == key.key && !(wanted.shared && key.shared);
    });
  });
  if (found == keys.end()) return {};
  return Notice{*found, lapses_};
}

void SessionLine::passed() { any_notice_ = false; }

}  // namespace lockset::postgresql
