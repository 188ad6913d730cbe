#include "backends/zookeeper/sessions.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

namespace lockset::zookeeper {
namespace {

using std::chrono::milliseconds;

// An idle session is kept for this long.
constexpr Duration idle_time = std::chrono::minutes(2);

// The session that a lease asks for lasts half as long again: see safe_part().
Duration wished_timeout(Duration lease) {
  return std::chrono::ceil<milliseconds>(lease + lease / 2);
}

}  // namespace

// The server that a client talks to tells the leader of the contact up to half a tick later;
// the client shows itself every third of the timeout at least. Where the client and that
// server are cut off together, the leader counts from the contact before.
Duration safe_part(Duration timeout) noexcept { return timeout * 2 / 3; }

Sessions::~Sessions() { close(std::move(entries_)); }

void Sessions::close(std::vector<Entry> entries) {
  // Side by side: each may take some seconds where the server does not answer.
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    try {
      threads.emplace_back([&entry = entries[i]] { entry.session.reset(); });
    } catch (const std::system_error&) {
      entries[i].session.reset();
    }
  }
  if (!entries.empty()) entries.front().session.reset();
  for (std::thread& thread : threads) thread.join();
}

std::size_t Sessions::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

Duration Sessions::timeout_for(Duration lease) const {
  const Duration wished = wished_timeout(lease);
  // Asking for less than there is would make another session of the same.
  return bounds_.shortest ? std::max(wished, *bounds_.shortest) : wished;
}

void Sessions::learn_bounds(const Session& session) {
  const Duration timeout = session.timeout();
  const std::lock_guard lock(mutex_);
  if (timeout > session.asked_timeout()) bounds_.shortest = timeout;
  if (timeout < session.asked_timeout()) bounds_.longest = timeout;
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

std::optional<Sessions::Entry> Sessions::find(Duration timeout, bool for_holds,
                                              std::size_t path_bytes, std::vector<Entry>& dead) {
  const auto first_dead = std::stable_partition(
      entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.session->alive(); });
  std::move(first_dead, entries_.end(), std::back_inserter(dead));
  entries_.erase(first_dead, entries_.end());
  for (Entry& entry : entries_) {
    if (entry.for_holds != for_holds || entry.session->asked_timeout() != timeout) continue;
    if (entry.session->stuck()) continue;
    if (*entry.used != 0 && *entry.used + path_bytes > most_path_bytes) continue;
    entry.last_use = BootClock::now();
    return entry;
  }
  return {};
}

Result<Sessions::Entry> Sessions::take(Duration timeout, bool for_holds, std::size_t path_bytes,
                                       TimePoint by) {
  std::vector<Entry> dead;  // closed when the mutex is free again
  std::unique_lock lock(mutex_);
  while (true) {
    if (std::optional<Entry> found = find(timeout, for_holds, path_bytes, dead)) return *found;
    if (!opening_) break;
    const Duration left = by - BootClock::now();
    if (left <= Duration::zero()) {
      return Error{Errc::unavailable, options_.shown() + ": can't begin to connect in time"};
    }
    opened_.wait_for(lock, left);
  }
  if (entries_.size() >= options_.pool + 1) {  // one is for what needs no lease
    return Error{Errc::unavailable, options_.shown() + ": all " + std::to_string(options_.pool) +
                                        " sessions are in use (parameter pool)"};
  }
  opening_ = true;
  lock.unlock();
  Result<std::shared_ptr<Session>> session = Session::open(options_, timeout);
  lock.lock();
  opening_ = false;
  opened_.notify_all();
  if (!session) return session.error();
  entries_.push_back({*std::move(session), std::make_shared<std::atomic<std::size_t>>(0),
                      BootClock::now(), for_holds});
  return entries_.back();
}

Result<std::shared_ptr<Session>> Sessions::general(TimePoint by) {
  while (true) {
    const Result<Entry> entry = take(options_.session_timeout, false, 0, by);
    if (!entry) return entry.error();
    const Status ready = entry->session->ready(by);
    if (ready) return entry->session;
    // One that has expired makes room for the next.
    if (entry->session->alive() || ready.error().code != Errc::unavailable) return ready.error();
  }
}

Result<std::unique_ptr<Seat>> Sessions::seat(Duration lease, std::size_t path_bytes, TimePoint by) {
  while (true) {
    Duration timeout;
    {
      const std::lock_guard lock(mutex_);
      timeout = timeout_for(lease);
      // Known before: no session is opened for nothing.
      for (const std::optional<Duration>& bound : {bounds_.shortest, bounds_.longest}) {
        const bool applies =
            bound && (bound == bounds_.longest ? *bound < lease : timeout == *bound);
        if (!applies) continue;
        if (Status fits = check_lease(lease, *bound); !fits) return fits.error();
      }
    }
    const Result<Entry> entry = take(timeout, true, path_bytes, by);
    if (!entry) return entry.error();
    if (Status ready = entry->session->ready(by); !ready) {
      if (entry->session->alive() || ready.error().code != Errc::unavailable) return ready.error();
      continue;
    }
    learn_bounds(*entry->session);
    if (Status fits = check_lease(lease, entry->session->timeout()); !fits) {
      forget(entry->session);
      return fits.error();
    }
    return std::make_unique<Seat>(entry->session, entry->used, path_bytes);
  }
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

void Sessions::tidy() {
  std::vector<Entry> idle;
  {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootClock::now();
    const auto first_idle =
        std::stable_partition(entries_.begin(), entries_.end(), [&](const Entry& entry) {
          return entry.session->alive() &&
                 (!entry.for_holds || *entry.used != 0 || entry.session.use_count() > 1 ||
                  now - entry.last_use < idle_time);
        });
    std::move(first_idle, entries_.end(), std::back_inserter(idle));
    entries_.erase(first_idle, entries_.end());
  }
  close(std::move(idle));
}

}  // namespace lockset::zookeeper
