#include "backends/zookeeper/sessions.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <utility>

#include "core/machine.h"
#include "core/time_math.h"

namespace lockset::zookeeper {
namespace {

using std::chrono::milliseconds;

// How long an idle session is kept.
constexpr Duration idle_time = std::chrono::minutes(2);

// For this long, a lease outside the servers' limits is refused without asking them.
constexpr Duration bounds_last = std::chrono::seconds(5);

// The session for a lease lasts half as long again: see safe_part().
Duration wished_timeout(Duration lease) {
  return std::chrono::ceil<milliseconds>(lease + lease / 2);
}

}  // namespace

// The server that a client talks to reports the contact to the leader up to half a tick later; the
// client makes contact at least every third of the timeout. If the client and that server are cut
// off together, the leader counts from the contact before.
Duration safe_part(Duration timeout) noexcept { return timeout * 2 / 3; }

Sessions::~Sessions() {
  std::vector<std::shared_ptr<Session>> all;
  for (Entry& entry : entries_) all.push_back(std::move(entry.session));
  take_retired(TimePoint::max(), all);
  close(std::move(all));
}

void Sessions::close(std::vector<std::shared_ptr<Session>> sessions) {
  // In parallel: each may take some seconds if the server does not answer.
  std::deque<Thread> threads;
  for (std::size_t i = 1; i < sessions.size(); ++i) {
    try {
      threads.emplace_back().start([&session = sessions[i]] { session.reset(); });
    } catch (const std::system_error&) {
      sessions[i].reset();
    }
  }
  if (!sessions.empty()) sessions.front().reset();
  for (Thread& thread : threads) {
    if (thread.joinable()) thread.join();
  }
}

std::size_t Sessions::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

Result<Duration> Sessions::timeout_for(Duration lease) const {
  const Duration wished = wished_timeout(lease);
  const std::lock_guard lock(mutex_);
  // Old knowledge refuses nothing: the servers may have other limits since then.
  const bool fresh = bounds_.learnt + bounds_last > BootClock::now();
  if (bounds_.longest && *bounds_.longest < lease && fresh) {
    return check_lease(lease, *bounds_.longest).error();
  }
  if (!bounds_.shortest || wished >= *bounds_.shortest) return wished;
  if (options_.short_leases) return *bounds_.shortest;  // so that short leases share a session
  if (!fresh) return wished;
  return check_lease(lease, *bounds_.shortest).error();
}

void Sessions::learn_bounds(const Session& session) {
  const Duration timeout = session.timeout();
  const std::lock_guard lock(mutex_);
  if (timeout == session.asked_timeout()) return;
  (timeout > session.asked_timeout() ? bounds_.shortest : bounds_.longest) = timeout;
  bounds_.learnt = BootClock::now();
}

Status Sessions::check_lease(Duration lease, Duration timeout) const {
  const auto refusal = [&](const std::string& why) {
    return Error{Errc::unsupported,
                 options_.shown() + ": a lease of " + format_duration(lease) + why};
  };
  if (timeout < lease) {
    return refusal(" is longer than the server's longest session, " + format_duration(timeout) +
                   ": take a shorter one, or raise maxSessionTimeout there");
  }
  if (timeout > wished_timeout(lease) && !options_.short_leases) {
    return refusal(" is too short for the server, whose shortest session is " +
                   format_duration(timeout) + ": take at least " +
                   format_duration(std::chrono::ceil<milliseconds>(safe_part(timeout))) +
                   ", lower minSessionTimeout there, or see short_leases in "
                   "docs/backends/zookeeper.md");
  }
  return {};
}

// Reserved at once: many that come together must not all find the same room.
Sessions::Reserved Sessions::reserve(Entry& entry, std::size_t path_bytes) {
  entry.last_use = BootClock::now();
  if (path_bytes == 0) return {entry, nullptr, false};
  *entry.used += path_bytes;
  return {entry, std::make_unique<Seat>(entry.session, entry.used, path_bytes), false};
}

std::optional<Sessions::Reserved> Sessions::find(Duration timeout, bool for_holds,
                                                 std::size_t path_bytes, std::vector<Entry>& dead) {
  // A session that lost its connection keeps its holds, and gets no new ones (but for conversions
  // of its own). If the servers were restored to a state before what it has seen, they turn it away
  // as long as they are behind; after that it may own there what it has long released. A new
  // session has seen nothing.
  const auto first_dead = std::stable_partition(
      entries_.begin(), entries_.end(),
      [](const Entry& entry) { return entry.session->alive() && !entry.session->was_cut(); });
  std::move(first_dead, entries_.end(), std::back_inserter(dead));
  entries_.erase(first_dead, entries_.end());
  for (Entry& entry : entries_) {
    if (entry.for_holds != for_holds || entry.session->asked_timeout() != timeout) continue;
    if (entry.session->stuck()) continue;
    const std::size_t used = path_bytes == 0 ? 0 : entry.used->load();
    if (used != 0 && used + path_bytes > most_path_bytes) continue;
    return reserve(entry, path_bytes);
  }
  return {};
}

bool Sessions::is_idle(const Entry& entry) {
  return entry.for_holds && *entry.used == 0 && entry.session.use_count() == 1;
}

std::optional<Sessions::Entry> Sessions::make_room() {
  auto oldest = entries_.end();
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!is_idle(*entry)) continue;
    if (oldest == entries_.end() || entry->last_use < oldest->last_use) oldest = entry;
  }
  if (oldest == entries_.end()) return {};
  Entry idle = std::move(*oldest);
  entries_.erase(oldest);
  return idle;
}

Result<Sessions::Reserved> Sessions::take(Duration timeout, bool for_holds, std::size_t path_bytes,
                                          TimePoint by) {
  std::vector<Entry> dead;  // closed when the mutex is free again
  std::unique_lock lock(mutex_);
  while (true) {
    if (std::optional<Reserved> found = find(timeout, for_holds, path_bytes, dead)) {
      return *std::move(found);
    }
    if (!opening_) break;
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, options_.shown() + ": can't begin to connect in time"};
    }
    opened_.wait_until(lock, on_steady_clock(by));
  }
  if (entries_.size() >= options_.pool + 1) {  // one is for calls that need no lease
    std::optional<Entry> idle = make_room();
    if (!idle) {
      return Error{Errc::unavailable, options_.shown() + ": all " + std::to_string(options_.pool) +
                                          " sessions are in use (parameter pool)"};
    }
    dead.push_back(*std::move(idle));
  }
  opening_ = true;
  const Duration handshake = handshake_;
  lock.unlock();
  Result<std::shared_ptr<Session>> session =
      Session::open(options_, timeout, handshake, connections_);
  lock.lock();
  opening_ = false;
  opened_.notify_all();
  if (!session) return session.error();
  (*session)->set_acl(acl_);
  entries_.push_back({*std::move(session), std::make_shared<std::atomic<std::size_t>>(0),
                      BootClock::now(), for_holds});
  Reserved reserved = reserve(entries_.back(), path_bytes);
  reserved.opened = true;
  return reserved;
}

Result<Sessions::Reserved> Sessions::connected(Duration timeout, bool for_holds,
                                               std::size_t path_bytes, TimePoint by) {
  while (true) {
    Result<Reserved> reserved = take(timeout, for_holds, path_bytes, by);
    if (!reserved) return reserved.error();
    const std::shared_ptr<Session>& session = reserved->entry.session;
    const Status ready = session->ready(by);
    if (reserved->opened && ready) {
      const std::lock_guard lock(mutex_);
      handshake_ = first_handshake;
    }
    if (ready) return reserved;
    if (session->ignored()) {
      if (reserved->opened) {
        const std::lock_guard lock(mutex_);
        handshake_ *= 2;
      }
      forget(session);
      if (BootClock::now() < by) continue;
    }
    // An expired session makes room for the next one.
    if (session->alive() || ready.error().code != Errc::unavailable) return ready.error();
  }
}

Result<std::shared_ptr<Session>> Sessions::general(TimePoint by) {
  const Result<Reserved> reserved = connected(options_.session_timeout, false, 0, by);
  if (!reserved) return reserved.error();
  return reserved->entry.session;
}

Result<std::unique_ptr<Seat>> Sessions::waiting_seat(std::size_t path_bytes, TimePoint by) {
  Result<Reserved> reserved = connected(options_.session_timeout, false, path_bytes, by);
  if (!reserved) return reserved.error();
  return std::move(reserved->seat);
}

Result<std::unique_ptr<Seat>> Sessions::seat(Duration lease, std::size_t path_bytes, TimePoint by) {
  const Result<Duration> timeout = timeout_for(lease);
  if (!timeout) return timeout.error();
  Result<Reserved> reserved = connected(*timeout, true, path_bytes, by);
  if (!reserved) return reserved.error();
  const std::shared_ptr<Session>& session = reserved->entry.session;
  // An old session does not show what limits the servers have today.
  if (reserved->opened) learn_bounds(*session);
  if (Status fits = check_lease(lease, session->timeout()); !fits) {
    forget(session);
    return fits.error();
  }
  return std::move(reserved->seat);
}

void Sessions::set_acl(const Acl& acl) {
  const std::lock_guard lock(mutex_);
  if (acl.empty() ? acl_ == nullptr : acl_ && *acl_ == acl) return;
  acl_ = acl.empty() ? nullptr : std::make_shared<const Acl>(acl);
  for (const Entry& entry : entries_) entry.session->set_acl(acl_);
}

void Sessions::give_acl(Session& session) const {
  const std::lock_guard lock(mutex_);
  session.set_acl(acl_);
}

void Sessions::forget(const std::shared_ptr<Session>& session) {
  std::vector<Entry> gone;
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->session != session) continue;
    gone.push_back(std::move(*entry));
    entries_.erase(entry);
    break;
  }
}

void Sessions::retire(const std::shared_ptr<Session>& session) {
  forget(session);
  const TimePoint until = later(BootClock::now(), safe_part(session->timeout()));
  const std::lock_guard lock(mutex_);
  retired_.push_back({session, until});
}

void Sessions::take_retired(TimePoint now, std::vector<std::shared_ptr<Session>>& ended) {
  for (Retired& retired : retired_) {
    if (retired.until <= now) ended.push_back(std::move(retired.session));
  }
  std::erase_if(retired_, [](const Retired& retired) { return retired.session == nullptr; });
}

void Sessions::tidy() {
  std::vector<std::shared_ptr<Session>> ended;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootClock::now();
    const auto first_idle =
        std::stable_partition(entries_.begin(), entries_.end(), [&](const Entry& entry) {
          return entry.session->alive() && !entry.session->was_cut() &&
                 (!is_idle(entry) || now - entry.last_use < idle_time);
        });
    for (auto idle = first_idle; idle != entries_.end(); ++idle) {
      ended.push_back(std::move(idle->session));
    }
    entries_.erase(first_idle, entries_.end());
    take_retired(now, ended);
  }
  close(std::move(ended));
}

}  // namespace lockset::zookeeper
