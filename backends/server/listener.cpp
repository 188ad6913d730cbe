#include "backends/server/listener.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <map>
#include <system_error>
#include <utility>

#include "core/wait_until.h"
#include "lockset/stamp.h"

namespace lockset::server {

struct Listener::Shared {
  const std::string name = Token::random().hex();
  mutable std::mutex mutex;
  // The mutex guards all that follows.
  std::uint64_t next_number = 1;
  std::map<std::uint64_t, Subscription*> subscriptions;
  std::condition_variable session_changed;
  std::uint64_t session = 0;
  std::uint64_t attempts = 0;  // finished attempts to connect
  bool ending = false;

  std::uint64_t new_number() {
    const std::lock_guard lock(mutex);
    return next_number++;
  }
};

namespace {

using std::chrono::milliseconds;

// The pauses between attempts to connect.
constexpr std::array pauses{milliseconds(50), milliseconds(250), milliseconds(1000),
                            milliseconds(5000)};

}  // namespace

// --- Subscription ---

Listener::Subscription::Subscription(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), number_(shared_->new_number()) {
  const std::lock_guard lock(shared_->mutex);
  shared_->subscriptions.emplace(number_, this);
}

Listener::Subscription::~Subscription() {
  const std::lock_guard lock(shared_->mutex);
  shared_->subscriptions.erase(number_);
}

std::uint64_t Listener::Subscription::wakes() const {
  const std::lock_guard lock(shared_->mutex);
  return wakes_;
}

bool Listener::Subscription::is_over(std::uint64_t seen, std::uint64_t session) const {
  const std::lock_guard lock(shared_->mutex);
  return wakes_ != seen || shared_->session != session;
}

void Listener::Subscription::sleep(std::uint64_t seen, std::uint64_t session, TimePoint until,
                                   const std::stop_token& stop) {
  std::unique_lock lock(shared_->mutex);
  wait_until(changed_, lock, stop, until,
             [&] { return wakes_ != seen || shared_->session != session; });
}

// --- Listener ---

Listener::Listener(Listen listen)
    : listen_(std::move(listen)), shared_(std::make_shared<Shared>()) {}

Listener::~Listener() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->session_changed.notify_all();
  interrupt_.set();
  if (thread_.joinable()) thread_.join();
}

const std::string& Listener::name() const noexcept { return shared_->name; }

std::shared_ptr<Listener::Subscription> Listener::subscribe() {
  return std::make_shared<Subscription>(shared_);
}

std::uint64_t Listener::session() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->session;
}

bool Listener::start(TimePoint by) {
  {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_.joinable()) {
      try {
        thread_.start([this] { run(); });
      } catch (const std::system_error&) {
        return false;
      }
    }
  }
  std::unique_lock lock(shared_->mutex);
  // An attempt that began before this call may be about to fail; the next one counts.
  const std::uint64_t enough = shared_->attempts + 1;
  wait_until(shared_->session_changed, lock, by, [&] {
    return shared_->session != 0 || shared_->ending || shared_->attempts >= enough;
  });
  return shared_->session != 0;
}

void Listener::connected() { set_session(++sessions_); }

void Listener::wake(std::uint64_t subscription) {
  const std::lock_guard lock(shared_->mutex);
  const auto found = shared_->subscriptions.find(subscription);
  if (found == shared_->subscriptions.end()) return;
  ++found->second->wakes_;
  found->second->changed_.notify_all();
}

void Listener::wake_all() {
  const std::lock_guard lock(shared_->mutex);
  for (const auto& [number, subscription] : shared_->subscriptions) {
    ++subscription->wakes_;
    subscription->changed_.notify_all();
  }
}

void Listener::set_session(std::uint64_t session) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->session != session) {
    // Waiters look again: the connection did not hear what was sent in between.
    for (const auto& [number, subscription] : shared_->subscriptions)
      subscription->changed_.notify_all();
  }
  shared_->session = session;
  ++shared_->attempts;
  shared_->session_changed.notify_all();
}

void Listener::run() {
  for (std::size_t failures = 0;; ++failures) {
    const std::uint64_t sessions_before = sessions_;
    try {
      listen_(*this);
    } catch (const std::exception&) {
      // The listener connects again below; waiters poll until then.
    }
    set_session(0);
    if (sessions_ != sessions_before) failures = 0;
    std::unique_lock lock(shared_->mutex);
    shared_->session_changed.wait_for(lock, pauses[std::min(failures, pauses.size() - 1)],
                                      [&] { return shared_->ending; });
    if (shared_->ending) return;
  }
}

}  // namespace lockset::server
