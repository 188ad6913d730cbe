#include "backends/redis/listener.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "lockset/stamp.h"

namespace lockset::redis {

struct Listener::Shared {
  const std::string client = Token::random().hex();
  mutable std::mutex mutex;
  // All below guarded by the mutex.
  std::uint64_t next_number = 1;
  std::map<std::uint64_t, Place*> places;
  std::condition_variable session_changed;
  std::uint64_t session = 0;
  std::uint64_t attempts = 0;  // to connect, finished ones
  bool ending = false;

  std::uint64_t new_number() {
    const std::lock_guard lock(mutex);
    return next_number++;
  }
};

namespace {

using std::chrono::milliseconds;

// Between attempts to connect.
constexpr std::array pauses{milliseconds(50), milliseconds(250), milliseconds(1000),
                            milliseconds(5000)};

}  // namespace

// --- Place ---

Listener::Place::Place(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)),
      number_(shared_->new_number()),
      waiter_(shared_->client + ":" + std::to_string(number_)) {
  const std::lock_guard lock(shared_->mutex);
  shared_->places.emplace(number_, this);
}

Listener::Place::~Place() {
  const std::lock_guard lock(shared_->mutex);
  shared_->places.erase(number_);
}

std::uint64_t Listener::Place::wakes() const {
  const std::lock_guard lock(shared_->mutex);
  return wakes_;
}

void Listener::Place::sleep(std::uint64_t seen, std::uint64_t session, TimePoint until,
                            std::stop_token stop) {
  std::unique_lock lock(shared_->mutex);
  changed_.wait_until(lock, std::move(stop), until,
                      [&] { return wakes_ != seen || shared_->session != session; });
}

// --- Listener ---

Listener::Listener(Store& store)
    : store_(store),
      shared_(std::make_shared<Shared>()),
      interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (interrupt_ < 0) throw std::bad_alloc();
}

Listener::~Listener() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->session_changed.notify_all();
  static_cast<void>(::eventfd_write(interrupt_, 1));
  if (thread_.joinable()) thread_.join();
  ::close(interrupt_);
}

std::shared_ptr<Listener::Place> Listener::new_place() { return std::make_shared<Place>(shared_); }

std::uint64_t Listener::session() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->session;
}

bool Listener::start(TimePoint by) {
  {
    const std::lock_guard lock(thread_mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread(&Listener::run, this);
      } catch (const std::system_error&) {
        return false;
      }
    }
  }
  std::unique_lock lock(shared_->mutex);
  // An attempt that began before this call may have been about to fail; the next one counts.
  const std::uint64_t enough = shared_->attempts + 1;
  shared_->session_changed.wait_until(lock, by, [&] {
    return shared_->session != 0 || shared_->ending || shared_->attempts >= enough;
  });
  return shared_->session != 0;
}

void Listener::set_session(std::uint64_t session) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->session != session) {
    // Who waits looks again: what was sent in between has not been heard.
    for (const auto& [number, place] : shared_->places) place->changed_.notify_all();
  }
  shared_->session = session;
  ++shared_->attempts;
  shared_->session_changed.notify_all();
}

void Listener::run() {
  for (std::size_t failures = 0;; ++failures) {
    const std::uint64_t sessions_before = sessions_;
    listen();
    set_session(0);
    if (sessions_ != sessions_before) failures = 0;
    std::unique_lock lock(shared_->mutex);
    shared_->session_changed.wait_for(lock, pauses[std::min(failures, pauses.size() - 1)],
                                      [&] { return shared_->ending; });
    if (shared_->ending) return;
  }
}

void Listener::listen() {
  const TimePoint by = BootClock::now() + store_.options().connect_timeout;
  Result<std::unique_ptr<Connection>> opened =
      connect_safely(store_.options(), store_.watchdog(), by);
  if (!opened) return;
  Connection& connection = **opened;
  if (!connection.ask({"SUBSCRIBE", store_.keys().channel(shared_->client)}, Sent::reading, by)) {
    return;  // no right to, perhaps; waiters poll
  }
  set_session(++sessions_);
  std::array<pollfd, 2> look{pollfd{connection.fd(), POLLIN, 0}, pollfd{interrupt_, POLLIN, 0}};
  for (;;) {
    if (::poll(look.data(), look.size(), -1) < 0 && errno != EINTR) return;
    if (look[1].revents != 0) return;
    if (look[0].revents == 0) continue;
    for (bool read = true;; read = false) {
      const Result<Reply> message = connection.received(read);
      if (!message) return;
      if (message->is_nil()) break;
      hear(*message);
    }
  }
}

void Listener::hear(const Reply& message) {
  if (message[0].text() != "message") return;
  const std::string_view which = message[2].text();
  std::uint64_t number = 0;
  std::from_chars(which.data(), which.data() + which.size(), number);
  const std::lock_guard lock(shared_->mutex);
  for (const auto& [of, place] : shared_->places) {
    if (which != "*" && of != number) continue;
    ++place->wakes_;
    place->changed_.notify_all();
  }
}

}  // namespace lockset::redis
