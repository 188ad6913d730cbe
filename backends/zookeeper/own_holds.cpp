#include "backends/zookeeper/own_holds.h"

#include <algorithm>
#include <utility>

namespace lockset::zookeeper {

bool OwnHolds::Known::live() const {
  return state != OwnHold::State::expired && BootClock::now() < deadline &&
         hold->session()->alive();
}

void OwnHolds::move_deadline(OwnHold& hold, TimePoint deadline) {
  deadlines_.erase({hold.deadline, hold.token});
  hold.deadline = deadline;
  deadlines_.emplace(deadline, hold.token);
}

void OwnHolds::ask(const std::shared_ptr<OwnHold>& hold, TimePoint deadline,
                   ConnectionNumber connection) {
  const std::lock_guard lock(mutex_);
  hold->unbroken_at = breaks_read_at_ >= connection ? breaks_ : 0;
  hold->deadline = deadline;
  const auto replaced = holds_.find(hold->replaces);
  if (replaced != holds_.end()) {
    hold->deadline = std::max(deadline, replaced->second->deadline);
    replaced->second->attempts.insert(hold->token);
  }
  holds_[hold->token] = hold;
}

void OwnHolds::sent(const std::string& token) {
  TimePoint deadline;
  {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(token);
    if (found == holds_.end()) return;
    found->second->sent_at = BootClock::now();
    deadline = found->second->deadline;
    const bool first = deadlines_.empty() || deadline < deadlines_.begin()->first;
    deadlines_.emplace(deadline, token);
    if (!first) return;
  }
  if (ring_) ring_(deadline);
}

void OwnHolds::saw(Breaks breaks, ConnectionNumber read_at) {
  const std::lock_guard lock(mutex_);
  if (read_at < breaks_read_at_) return;
  breaks_ = breaks;
  breaks_read_at_ = read_at;
}

bool OwnHolds::knows_breaks(ConnectionNumber connection) const {
  const std::lock_guard lock(mutex_);
  return breaks_ != 0 && breaks_read_at_ >= connection;
}

std::vector<std::string> OwnHolds::doubtful(const std::vector<std::string>& tokens, Breaks breaks,
                                            ConnectionNumber connection) const {
  std::vector<std::string> result;
  const std::lock_guard lock(mutex_);
  for (const std::string& token : tokens) {
    const auto found = holds_.find(token);
    if (found == holds_.end()) continue;  // it has ended, so it is not renewed
    const OwnHold& hold = *found->second;
    const bool unbroken = hold.unbroken_at != 0 && hold.unbroken_at == breaks;
    const bool sure = unbroken && hold.seen_in == connection && hold.attempts.empty();
    if (!sure) result.push_back(token);
  }
  return result;
}

std::vector<std::string> OwnHolds::doubtful(const std::vector<std::string>& tokens,
                                            ConnectionNumber connection) const {
  Breaks breaks = 0;
  {
    const std::lock_guard lock(mutex_);
    breaks = breaks_;
  }
  return doubtful(tokens, breaks, connection);
}

void OwnHolds::seen(const std::string& token, Breaks breaks, ConnectionNumber connection) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(token);
  if (found == holds_.end()) return;
  found->second->unbroken_at = breaks;
  found->second->seen_in = connection;
}

bool OwnHolds::done_in(const std::string& token, ConnectionNumber connection) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(token);
    if (found == holds_.end()) return true;
    OwnHold& hold = *found->second;
    if (hold.unusable) return false;
    if (connection <= hold.made_from) {
      if (connection != 0 && hold.seen_in == 0) hold.seen_in = connection;
      return true;
    }
    if (!hold.replaces.empty()) {
      hold.unusable = true;
      return false;
    }
  }
  expire(token);
  return false;
}

void OwnHolds::refuse(const std::string& token) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(token);
  if (found != holds_.end()) found->second->unusable = true;
}

void OwnHolds::granted(const std::string& token, Stamp stamp) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(token);
  if (found == holds_.end()) return;
  OwnHold& hold = *found->second;
  drop(hold.replaces);  // they share a seat, so this ends no session
  hold.stamp = stamp;
  by_stamp_[stamp] = found->second;
  if (hold.state == OwnHold::State::asked) hold.state = OwnHold::State::live;
}

void OwnHolds::forget(const std::string& token) {
  std::shared_ptr<OwnHold> last;  // its session may end with it: so not under the mutex
  const std::lock_guard lock(mutex_);
  last = drop(token);
  if (!last) return;
  // Whatever became of the attempt: the next renewal looks for the hold.
  const auto replaced = holds_.find(last->replaces);
  if (replaced == holds_.end()) return;
  replaced->second->attempts.erase(token);
  replaced->second->unbroken_at = 0;
}

std::shared_ptr<OwnHold> OwnHolds::drop(const std::string& token) {
  const auto found = holds_.find(token);
  if (found == holds_.end()) return nullptr;
  std::shared_ptr<OwnHold> last = std::move(found->second);
  holds_.erase(found);
  deadlines_.erase({last->deadline, token});
  const auto by_stamp = by_stamp_.find(last->stamp);
  if (by_stamp != by_stamp_.end() && by_stamp->second == last) by_stamp_.erase(by_stamp);
  return last;
}

std::optional<OwnHolds::Known> OwnHolds::find(const std::string& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(token);
  return found == holds_.end() ? std::nullopt : std::optional(known(found->second));
}

std::optional<OwnHolds::Known> OwnHolds::find(Stamp stamp) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_stamp_.find(stamp);
  return found == by_stamp_.end() ? std::nullopt : std::optional(known(found->second));
}

std::set<std::string> OwnHolds::past_deadline() const {
  std::vector<Known> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [token, hold] : holds_) all.push_back(known(hold));
  }
  std::set<std::string> result;  // not under the mutex, because live() asks the session
  for (const Known& each : all) {
    if (!each.live()) result.insert(each.hold->token);
  }
  return result;
}

bool OwnHolds::any_live_in(const Session& session) const {
  const TimePoint now = BootClock::now();
  const std::lock_guard lock(mutex_);
  return std::any_of(holds_.begin(), holds_.end(), [&](const auto& entry) {
    const OwnHold& hold = *entry.second;
    return hold.session().get() == &session && hold.deadline > now;
  });
}

TimePoint OwnHolds::next_deadline() const {
  const std::lock_guard lock(mutex_);
  return deadlines_.empty() ? TimePoint::max() : deadlines_.begin()->first;
}

std::vector<std::shared_ptr<OwnHold>> OwnHolds::take_due(TimePoint now) {
  std::vector<std::shared_ptr<OwnHold>> due;
  const std::lock_guard lock(mutex_);
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const std::shared_ptr<OwnHold>& hold = holds_.at(deadlines_.begin()->second);
    hold->state = OwnHold::State::expired;
    due.push_back(hold);
    deadlines_.erase(deadlines_.begin());
  }
  return due;
}

std::optional<Duration> OwnHolds::renew(const std::string& token, TimePoint sent) {
  const std::lock_guard lock(mutex_);
  const auto found = holds_.find(token);
  if (found == holds_.end()) return {};
  OwnHold& hold = *found->second;
  const TimePoint now = BootClock::now();
  if (hold.state != OwnHold::State::live || hold.deadline <= now) return {};
  // The timeout changes if the session has reconnected to servers with other limits. What was
  // promised beyond it can't be taken back: that hold is lost, and stays until its deadline.
  const Duration safe = safe_part(hold.session()->timeout());
  if (safe < hold.lease && sent + safe < hold.deadline) return {};
  move_deadline(hold, std::max(hold.deadline, sent + std::min(hold.lease, safe)));
  keep_attempts(hold, sent);
  return std::min(hold.deadline - sent, safe);
}

// What may take the hold's place must not end before the hold, which has just been renewed. Those
// whose request came before the renewal failed: after them, in the same session, the hold was seen.
void OwnHolds::keep_attempts(const OwnHold& hold, TimePoint sent) {
  for (const std::string& token : hold.attempts) {
    OwnHold& attempt = *holds_.at(token);
    if (attempt.sent_at <= sent || attempt.deadline >= hold.deadline) continue;
    if (attempt.sent_at == TimePoint::max()) {
      attempt.deadline = hold.deadline;  // counts once it is under way
    } else if (attempt.state == OwnHold::State::asked) {
      move_deadline(attempt, hold.deadline);
    }
  }
}

void OwnHolds::expire(const std::string& token) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(token);
    if (found == holds_.end() || found->second->state == OwnHold::State::expired) return;
    move_deadline(*found->second, BootClock::now());
  }
  if (ring_) ring_(TimePoint::min());
}

std::vector<std::shared_ptr<OwnHold>> OwnHolds::take_all_in(const Session& session) {
  std::vector<std::shared_ptr<OwnHold>> all;  // their session may end with them
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [token, hold] : holds_) {
      if (hold->session().get() == &session) all.push_back(hold);
    }
  }
  for (const std::shared_ptr<OwnHold>& hold : all) forget(hold->token);
  return all;
}

std::vector<std::shared_ptr<OwnHold>> OwnHolds::take_all() {
  std::vector<std::shared_ptr<OwnHold>> all;
  const std::lock_guard lock(mutex_);
  for (auto& [token, hold] : holds_) all.push_back(std::move(hold));
  holds_.clear();
  by_stamp_.clear();
  deadlines_.clear();
  return all;
}

}  // namespace lockset::zookeeper
