#include "backends/zookeeper/reaper.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>

#include "core/shortage.h"

namespace lockset::zookeeper {
namespace {

// How long one removal may take, and when it is tried again.
constexpr Duration patience = std::chrono::seconds(2);
constexpr Duration pause = std::chrono::milliseconds(50);
// The longest sleep while there is a deadline: the clock of a condition variable stands still
// during a suspend.
constexpr Duration look_again = std::chrono::seconds(1);
constexpr std::size_t removed_together = 100;

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

Status Reaper::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || ending_) return {};
  Status status;
  try {
    thread_.start([this] { loop(); });
  } catch (const std::system_error& error) {
    status = Error{Errc::unavailable,
                   space_.where + ": can't start a thread: " + text_of_errno(error.code().value())};
  }
  return status;
}

void Reaper::ring(TimePoint deadline) {
  const std::lock_guard lock(mutex_);
  if (deadline >= sleeps_until_) return;
  rung_ = true;
  changed_.notify_all();
}

void Reaper::loop() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    rung_ = false;
    const TimePoint now = BootClock::now();
    // Read after rung_ was lowered: a deadline that comes in between rings again.
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
  std::map<Session*, Holds> by_session;
  for (std::shared_ptr<OwnHold>& hold : holds) {
    by_session[hold->session().get()].push_back(std::move(hold));
  }
  Holds left;
  for (auto& [session, some] : by_session) {
    if (give_up(some)) continue;
    for (std::size_t at = 0; at < some.size(); at += removed_together) {
      const auto begin = some.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          some.begin() + static_cast<std::ptrdiff_t>(std::min(some.size(), at + removed_together));
      Holds still = remove_some(*session, {begin, end}, by);
      std::move(still.begin(), still.end(), std::back_inserter(left));
    }
  }
  return left;
}

// A client whose requests reach the servers, but which gets no answers, goes on connecting, and
// that keeps its session from expiring. If it is not back after half its timeout, the session is
// dropped: it expires, and its holds with it.
bool Reaper::give_up(const Holds& holds) {
  const std::shared_ptr<Session> session = holds.front()->session();
  if (session->connected() || !session->alive()) return false;
  const TimePoint long_ago = BootClock::now() - session->timeout() / 2;
  for (const std::shared_ptr<OwnHold>& hold : holds) {
    const std::optional<OwnHolds::Known> known = space_.own.find(hold->token);
    if (known && known->deadline > long_ago) return false;
  }
  if (space_.own.any_live_in(*session)) return false;
  space_.sessions.forget(session);
  for (const std::shared_ptr<OwnHold>& hold : holds) space_.own.forget(hold->token);
  return true;
}

// Removes them in their own session. There a removal comes after all earlier requests, so no late
// request can make a hold after it. (The server that a session moves to closes its old connection,
// and the leader refuses what arrives through the server before.)
Reaper::Holds Reaper::remove_some(Session& session, Holds holds, TimePoint by) {
  std::vector<Request> requests;
  for (const std::shared_ptr<OwnHold>& hold : holds) {
    requests.push_back(space_.end_of(hold->token, hold->items));
  }
  const bool can_be_asked = session.alive() && session.connected();
  const Result<Replies> replies = can_be_asked ? session.run(std::move(requests), by)
                                               : Result<Replies>(Error{Errc::unavailable, ""});
  Holds left;
  std::size_t removed = 0;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const int code = replies ? (*replies)[i].code : ZCONNECTIONLOSS;
    // The session has ended, and the hold with it; or another client has ended the hold.
    const bool gone = code == ZOK || code == ZNONODE || !session.alive();
    if (code == ZOK) ++removed;
    if (!gone) {
      left.push_back(std::move(holds[i]));
      continue;
    }
    for (const LockRequest& item : holds[i]->items) {
      space_.names.ended(item.name, holds[i]->token);
    }
    space_.own.forget(holds[i]->token);
  }
  const std::lock_guard lock(mutex_);
  removed_ += removed;
  return left;
}

}  // namespace lockset::zookeeper
