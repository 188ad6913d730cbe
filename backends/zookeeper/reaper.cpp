#include "backends/zookeeper/reaper.h"

#include <pthread.h>
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <map>
#include <utility>

namespace lockset::zookeeper {
namespace {

// How long one removal may take, and after what time it is tried again.
constexpr Duration patience = std::chrono::seconds(2);
constexpr Duration pause = std::chrono::milliseconds(50);
// Slept at most, while there is a deadline: the clock of a condition variable stands still
// during a suspend.
constexpr Duration look_again = std::chrono::seconds(1);
// Sent together.
constexpr std::size_t chunk = 100;

}  // namespace

Reaper::Reaper(OpenSpace& space) : space_(space) {
  space_.own.on_earlier_deadline([this](TimePoint deadline) { ring(deadline); });
}

Reaper::~Reaper() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Reaper::ring(TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() && deadline >= sleeps_until_) return;
  rung_ = true;
  if (!thread_.joinable() && !ending_) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  changed_.notify_all();
}

void Reaper::loop() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    rung_ = false;
    const TimePoint now = BootClock::now();
    // Read after rung_ was lowered: who comes in between rings again.
    TimePoint next = space_.own.next_deadline();
    if (!left_.empty()) next = std::min(next, now + pause);
    const bool idle = next == TimePoint::max();
    sleeps_until_ = idle ? next : std::min(next, now + look_again);
    if (idle) {
      changed_.wait(lock, [&] { return rung_ || ending_; });
      continue;
    }
    changed_.wait_for(lock, sleeps_until_ - now, [&] { return rung_ || ending_; });
    if (ending_ || BootClock::now() < next) continue;
    lock.unlock();
    run(BootClock::now() + patience);
    lock.lock();
  }
}

void Reaper::run(TimePoint by) {
  Holds holds;
  {
    const std::lock_guard lock(mutex_);
    holds = std::exchange(left_, {});
  }
  Holds due = space_.own.take_due(BootClock::now());
  std::move(due.begin(), due.end(), std::back_inserter(holds));
  if (holds.empty()) return;
  Holds left = remove_all(std::move(holds), by);
  const std::lock_guard lock(mutex_);
  std::move(left.begin(), left.end(), std::back_inserter(left_));
}

Status Reaper::remove(const std::shared_ptr<OwnHold>& hold, TimePoint by) {
  if (remove_all({hold}, by).empty()) return {};
  return Error{Errc::unavailable,
               space_.where + ": an expired hold of this client can't be removed now"};
}

std::size_t Reaper::take_count() {
  const std::lock_guard lock(mutex_);
  return std::exchange(removed_, 0);
}

Reaper::Holds Reaper::remove_all(Holds holds, TimePoint by) {
  // In their own sessions: there, a removal comes after whatever was asked for before, so
  // that no late answer can bring a hold about behind it.
  std::map<Session*, Holds> by_session;
  for (std::shared_ptr<OwnHold>& hold : holds) {
    by_session[hold->session().get()].push_back(std::move(hold));
  }
  Holds left;
  std::size_t removed = 0;
  for (auto& [session, some] : by_session) {
    for (std::size_t at = 0; at < some.size(); at += chunk) {
      const std::size_t end = std::min(some.size(), at + chunk);
      std::vector<Request> requests;
      for (std::size_t i = at; i < end; ++i) {
        requests.push_back(space_.end_of(some[i]->token, some[i]->items));
      }
      const bool can_be_asked = session->alive() && session->connected();
      Result<Replies> replies = can_be_asked ? session->run(std::move(requests), by)
                                             : Result<Replies>(Error{Errc::unavailable, ""});
      for (std::size_t i = at; i < end; ++i) {
        const int code = replies ? (*replies)[i - at].code : ZCONNECTIONLOSS;
        // Its session has ended, and the hold with it; or somebody else has ended it.
        const bool gone = code == ZOK || code == ZNONODE || !session->alive();
        if (code == ZOK) ++removed;
        if (!gone) {
          left.push_back(some[i]);
          continue;
        }
        for (const LockRequest& item : some[i]->items) {
          space_.names.ended(item.name, some[i]->token);
        }
        space_.own.forget(some[i]->token);
      }
    }
  }
  const std::lock_guard lock(mutex_);
  removed_ += removed;
  return left;
}

}  // namespace lockset::zookeeper
