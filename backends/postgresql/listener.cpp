#include "backends/postgresql/listener.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <pqxx/pqxx>
#include <system_error>
#include <vector>

#include "backends/postgresql/connection.h"
#include "lockset/stamp.h"

namespace lockset::postgresql {

struct Listener::Shared {
  std::string channel;
  std::atomic<std::uint64_t> next_ticket{1};
  mutable std::mutex mutex;
  // All below guarded by the mutex.
  std::map<std::string, Place*, std::less<>> places;
  std::condition_variable session_changed;
  std::uint64_t session = 0;
  std::uint64_t attempts = 0;  // to connect, finished ones
  bool ending = false;
};

namespace {

using std::chrono::milliseconds;

// Between attempts to connect.
constexpr std::array pauses{milliseconds(50), milliseconds(250), milliseconds(1000),
                            milliseconds(5000)};

class Receiver : public pqxx::notification_receiver {
 public:
  using Hear = std::function<void(const std::string&)>;
  Receiver(NativeConnection& connection, const std::string& channel, Hear hear)
      : pqxx::notification_receiver(connection, channel), hear_(std::move(hear)) {}
  void operator()(const std::string& payload, int /*pid*/) override { hear_(payload); }

 private:
  Hear hear_;
};

}  // namespace

// --- Place ---

Listener::Place::Place(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), ticket_(std::to_string(shared_->next_ticket++)) {
  const std::lock_guard lock(shared_->mutex);
  shared_->places.emplace(ticket_, this);
}

Listener::Place::~Place() {
  const std::lock_guard lock(shared_->mutex);
  shared_->places.erase(ticket_);
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

Listener::Listener(const Options& options, connections::SocketWatchdog& watchdog)
    : options_(options), watchdog_(watchdog), shared_(std::make_shared<Shared>()) {
  shared_->channel = "lockset_" + Token::random().hex();
}

Listener::~Listener() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->session_changed.notify_all();
  interrupt_.set();
  if (thread_.joinable()) thread_.join();
}

const std::string& Listener::channel() const noexcept { return shared_->channel; }

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
    for (const auto& [ticket, place] : shared_->places) place->changed_.notify_all();
  }
  shared_->session = session;
  ++shared_->attempts;
  shared_->session_changed.notify_all();
}

void Listener::run() {
  for (std::size_t failures = 0;; ++failures) {
    const std::uint64_t sessions_before = sessions_;
    try {
      listen();
    } catch (const std::exception&) {
      // Connecting is tried again below; waiters poll meanwhile.
    }
    set_session(0);
    if (sessions_ != sessions_before) failures = 0;
    std::unique_lock lock(shared_->mutex);
    shared_->session_changed.wait_for(lock, pauses[std::min(failures, pauses.size() - 1)],
                                      [&] { return shared_->ending; });
    if (shared_->ending) return;
  }
}

void Listener::listen() {
  const TimePoint by = BootClock::now() + options_.connect_timeout;
  Result<std::unique_ptr<Connection>> connection =
      Connection::connect(options_, watchdog_, interrupt_, by);
  if (!connection) return;
  NativeConnection& native = (*connection)->native();
  connections::CallDeadline deadline((*connection)->socket(), by);
  // Sends LISTEN.
  const Receiver receiver(native, shared_->channel, [this](const std::string& ticket) {
    const std::lock_guard lock(shared_->mutex);
    const auto place = shared_->places.find(ticket);
    if (place == shared_->places.end()) return;
    ++place->second->wakes_;
    place->second->changed_.notify_all();
  });
  if (deadline.end()) return;
  set_session(++sessions_);
  std::array<pollfd, 2> look{pollfd{native.sock(), POLLIN, 0}, pollfd{interrupt_.fd(), POLLIN, 0}};
  for (;;) {
    if (::poll(look.data(), look.size(), -1) < 0 && errno != EINTR) return;
    if (look[1].revents != 0) return;
    if (look[0].revents == 0) continue;
    native.get_notifs();
    // The other side is gone; what it still had to say has been read.
    if (!native.is_open() || (*connection)->hung_up()) return;
  }
}

}  // namespace lockset::postgresql
