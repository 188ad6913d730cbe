// What an acquire relies on without reading it: the configuration, and where stamps come from.
//
// An acquire takes locks and draws a number from a counter of the server, and reads no table, which
// would cost as much as the locks. What it would have to read is known to the client beforehand,
// and stays right as long as a certain user-level lock is held: that of the token. One session in
// the server holds it, the keeper; any client may be that. The acquire looks, once it has its
// locks, whether the token's lock is held. A change takes the token out of the table first, and
// returns only after the keeper has released its lock (or has ended).
#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/session_backend.h"
#include "backends/mysql/sql.h"
#include "backends/mysql/waiting.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Looked for at once; beyond them by further calls.
constexpr int numbers_at_once = 32;
constexpr int fewest_readers = 4;

}  // namespace

SessionBackend::SettledPtr SessionBackend::settled() {
  const std::lock_guard lock(settled_mutex_);
  return settled_;
}

Result<SessionBackend::SettledPtr> SessionBackend::load_settled(TimePoint by) {
  const Result<Reply> row = store_.run(
      filled_in("SELECT n.token, s.config_version, n.stamp_offset, n.stamp_floor, n.readers, "
                "IS_USED_LOCK(CONCAT('lockset ', n.token)) "
                "FROM {space}_session n JOIN {space}_space s ON s.id = n.id WHERE n.id = 1",
                store_.options().space),
      Sent::reading, by);
  if (!row) return row.error();
  if (row->rows.size() != 1) return nonsense(store_);
  auto found = std::make_shared<Settled>();
  found->token = row->text(0);
  found->version = row->number(1);
  found->offset = row->number(2);
  found->most = row->number(3) + stamp_window;
  found->readers = static_cast<int>(row->number(4));
  found->alive = !found->token.empty() && row->optional_number(5).has_value();
  const std::lock_guard lock(settled_mutex_);
  if (found->alive) settled_ = found;
  return SettledPtr(std::move(found));
}

Result<SessionBackend::SettledPtr> SessionBackend::settle(const Needs& needs, TimePoint by) {
  Nudge nudge;
  Duration pause = milliseconds(2);
  for (;;) {
    Result<SettledPtr> found = load_settled(by);
    if (!found) return found;
    const Settled& now = **found;
    const bool fits = now.readers >= needs.readers && now.most - stamp_window >= needs.least;
    if (now.alive && fits) return found;
    if (!fits) {
      const Result<Reply> done = store_.run(
          CallText(store_.name("_session_retire")).number(needs.least).number(needs.readers).str(),
          Sent::reading, by);
      if (!done) return done.error();
    }
    std::string client;
    {
      const std::lock_guard lock(settled_mutex_);
      wanted_ = true;
      client = client_;
    }
    slots_->end_tending();
    if (nudge.due()) {
      wake_keeper(nudge.in_vain(), by);
      if (parked_) wake_clients(client, by);
    }
    std::unique_lock lock(settled_mutex_);
    if (wanted_) settled_changed_.wait_for(lock, pause);
    if (BootClock::now() >= by) {
      return Error{Errc::unavailable, store_.options().shown() +
                                          ": the client that keeps the space's stamps does not "
                                          "answer"};
    }
    pause = std::min<Duration>(pause * 2, milliseconds(50));
  }
}

void SessionBackend::wake_keeper(bool end, TimePoint by) {
  // It may be another account's, which this one may not touch; that keeper looks every second.
  static_cast<void>(store_.run(std::string(end ? "KILL CONNECTION" : "KILL QUERY") +
                                   " IS_USED_LOCK(" + lock_literal(names_.keeper()) + ")",
                               Sent::reading, by));
}

Status SessionBackend::await_keeper(TimePoint by) {
  Nudge nudge;
  Duration pause = milliseconds(2);
  for (;;) {
    const Result<Reply> row =
        store_.run("SELECT token <> '' OR IS_FREE_LOCK(" + lock_literal(names_.keeper()) +
                       ") FROM " + store_.name("_session") + " WHERE id = 1",
                   Sent::reading, by);
    // The change itself is made.
    if (!row) return Error{Errc::indeterminate, row.error().message};
    if (row->rows.size() == 1 && row->number(0) == 1) return {};
    if (BootClock::now() >= by) {
      return Error{Errc::indeterminate,
                   store_.options().shown() +
                       ": a client of the space does not answer; it may grant by the configuration "
                       "of before for some seconds"};
    }
    if (nudge.due()) wake_keeper(nudge.in_vain(), by);
    sleep_until(BootClock::now() + pause, {});
    pause = std::min<Duration>(pause * 2, milliseconds(50));
  }
}

Result<SessionBackend::SettledPtr> SessionBackend::number_session(Session& session, SettledPtr now,
                                                                  TimePoint by) {
  for (int from = 0; session.number() < 0; from += numbers_at_once) {
    std::string sql = "SELECT COALESCE(";
    for (int i = from; i < from + numbers_at_once; ++i) {
      sql += "IF(GET_LOCK(" + lock_literal(names_.number(i)) + ",0)=1," + std::to_string(i) +
             ",NULL),";
    }
    const Result<Reply> found = session.run(sql + "-1)", Sent::reading, by);
    if (!found) {
      // It may have one that nobody knows of.
      if (session.outcome() != Session::Outcome::broken) session.give_up();
      return found.error();
    }
    session.has_number(static_cast<int>(found->number(0)));
  }
  if (session.number() < now->readers) return now;
  const auto readers = static_cast<unsigned>(std::max(session.number() + 1, fewest_readers));
  return settle({0, static_cast<int>(std::bit_ceil(readers))}, by);
}

Result<std::optional<Stamp>> SessionBackend::stamp_from(const Settled& now, std::int64_t counter,
                                                        Stamp least, TimePoint by) {
  const Stamp stamp{counter + now.offset};
  if (stamp < least) {
    const Result<SettledPtr> done = settle({least.value, 0}, by);
    if (!done) return done.error();
    return std::optional<Stamp>();
  }
  if (stamp.value <= now.most) return std::optional<Stamp>(stamp);
  const Result<Reply> raised =
      store_.run(CallText(store_.name("_session_raise")).bytes(now.token).number(stamp.value).str(),
                 Sent::reading, by);
  if (!raised) return raised.error();
  const Result<SettledPtr> loaded = load_settled(by);
  if (!loaded) return loaded.error();
  if (raised->rows.empty() || raised->number(0) < stamp.value) return std::optional<Stamp>();
  return std::optional<Stamp>(stamp);
}

}  // namespace lockset::mysql
