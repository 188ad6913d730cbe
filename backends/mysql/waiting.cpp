#include "backends/mysql/waiting.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <system_error>

#include "core/wait_until.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;

// How often the poller asks while something has just happened, and how seldom at most.
constexpr Duration most_often = milliseconds(5);
constexpr Duration most_seldom = milliseconds(100);
// If the server answers slowly, a pause lasts this many times as long as its answer: a crowd of
// pollers must leave the server time to serve the holders that they wait for.
constexpr int pause_factor = 8;
constexpr std::size_t most_stamps = 1000;

}  // namespace

// The waiters that want the same mode of the same name: what blocks one blocks all.
struct Poller::Group {
  std::vector<std::int64_t> holders;
  std::int64_t config_version = 0;
  std::map<std::uint64_t, Ticket*> waiters;  // in the order of arrival
  // How many to wake at the next look. It doubles while the woken ones find nothing in
  // their way, so that many readers get in fast; an answer "busy" begins again with one.
  std::size_t burst = 1;
  TimePoint since;
};

struct Poller::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<std::string, Mode>, Group> groups;
  std::uint64_t next_order = 1;
  bool ending = false;

  void remove(Ticket& ticket) {
    if (!ticket.key_) return;
    const auto group = groups.find(*ticket.key_);
    ticket.key_.reset();
    if (group == groups.end()) return;
    group->second.waiters.erase(ticket.order_);
    if (group->second.waiters.empty()) groups.erase(group);
  }
};

Poller::Ticket::~Ticket() {
  const std::lock_guard lock(shared_->mutex);
  shared_->remove(*this);
}

Poller::Poller(Ask ask) : ask_(std::move(ask)), shared_(std::make_shared<Shared>()) {}

Poller::~Poller() {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
  }
  shared_->changed.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<Poller::Ticket> Poller::queue_up(std::shared_ptr<Ticket> ticket,
                                                 Obstacle obstacle) {
  const std::lock_guard lock(shared_->mutex);
  try {
    if (!thread_.joinable()) thread_.start([this] { run(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  if (!ticket) ticket = std::make_shared<Ticket>(shared_);
  const std::pair<std::string, Mode> key(std::move(obstacle.name), obstacle.wanted);
  if (ticket->key_ != key) {
    shared_->remove(*ticket);
    if (ticket->order_ == 0) ticket->order_ = shared_->next_order++;
    ticket->key_ = key;
  }
  ticket->woken_ = false;
  Group& group = shared_->groups[key];
  group.waiters[ticket->order_] = ticket.get();
  if (group.holders != obstacle.holders || group.config_version != obstacle.config_version) {
    group.holders = std::move(obstacle.holders);
    group.config_version = obstacle.config_version;
    group.since = BootClock::now();
  }
  group.burst = 1;
  shared_->changed.notify_all();
  return ticket;
}

void Poller::taken(const std::string& name, Mode mode, Stamp stamp) {
  const std::lock_guard lock(shared_->mutex);
  for (const Mode wanted : {Mode::read, Mode::write}) {
    const auto group = shared_->groups.find({name, wanted});
    // A read may leave room for further readers, which are still woken.
    if (group == shared_->groups.end() || (mode == Mode::read && wanted == Mode::read)) continue;
    group->second.holders = {stamp.value};
    group->second.burst = 1;
    group->second.since = BootClock::now();
  }
}

void Poller::sleep(Ticket& ticket, TimePoint until, const std::stop_token& stop) {
  std::unique_lock lock(ticket.shared_->mutex);
  wait_until(ticket.changed_, lock, stop, until, [&] { return ticket.woken_ || !ticket.key_; });
  ticket.woken_ = false;
}

void Poller::leave(Ticket& ticket) {
  const std::lock_guard lock(ticket.shared_->mutex);
  ticket.shared_->remove(ticket);
}

void Poller::run() {
  std::minstd_rand random(std::random_device{}());
  std::unique_lock lock(shared_->mutex);
  while (!shared_->ending) {
    if (shared_->groups.empty()) {
      shared_->changed.wait(lock);
      continue;
    }
    std::set<std::int64_t> stamps;
    TimePoint newest{};
    for (const auto& [key, group] : shared_->groups) {
      newest = std::max(newest, group.since);
      for (const std::int64_t holder : group.holders) {
        if (stamps.size() < most_stamps) stamps.insert(holder);
      }
    }
    const Duration quiet = BootClock::now() - newest;
    const Duration interval = std::clamp<Duration>(quiet / 32, most_often, most_seldom);
    // A quarter more or less, so that clients do not poll in step.
    std::uniform_int_distribution<Duration::rep> spread(interval.count() * 3 / 4,
                                                        interval.count() * 5 / 4);
    const TimePoint asked = BootClock::now();
    lock.unlock();
    const std::optional<Look> look = ask_({stamps.begin(), stamps.end()});
    const TimePoint answered = BootClock::now();
    lock.lock();
    const TimePoint next =
        std::max(asked + Duration(spread(random)), answered + pause_factor * (answered - asked));
    for (auto& [key, group] : shared_->groups) {
      if (!look) break;
      const bool new_config = look->config_version > group.config_version;
      const bool one_gone =
          std::any_of(group.holders.begin(), group.holders.end(), [&](std::int64_t holder) {
            return stamps.contains(holder) && !look->alive.contains(holder);
          });
      if (!new_config && !one_gone) continue;
      std::size_t left = new_config ? group.waiters.size() : group.burst;
      for (auto& [order, ticket] : group.waiters) {
        if (left == 0) break;
        if (ticket->woken_) continue;
        ticket->woken_ = true;
        ticket->changed_.notify_all();
        --left;
      }
      if (new_config) group.config_version = look->config_version;
      group.burst = std::min<std::size_t>(group.burst * 2, 1024);
      group.since = BootClock::now();
    }
    wait_until(shared_->changed, lock, next, [&] { return shared_->ending; });
  }
}

}  // namespace lockset::mysql
