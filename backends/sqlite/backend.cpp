#include "backends/sqlite/backend.h"

#include <algorithm>
#include <chrono>

#include "backends/answers.h"
#include "backends/sqlite/acquire.h"
#include "backends/sqlite/config.h"
#include "backends/sqlite/holds.h"
#include "backends/sqlite/traces.h"
#include "backends/sqlite/waiting.h"
#include "core/time_math.h"

namespace lockset::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

#ifdef __linux__
constexpr bool has_futex = true;
#else
constexpr bool has_futex = false;
#endif

// Limits of one sweep: rows that it looks at (without blocking writers), and holds that it removes.
constexpr std::int64_t sweep_looks = 20'000;
constexpr std::size_t sweep_removes = 500;

// How often a waiter looks whether the holders in its way live.
constexpr Duration watch_every = std::chrono::milliseconds(20);

// Then there is nothing to write.
bool is_permanent(Transaction& transaction, std::string_view app, const RenewRequest& request) {
  Query query = transaction.db.use(
      "SELECT 1 FROM holds WHERE stamp = ? AND app = ? AND expires_boot_us IS NULL "
      "AND life_byte IS NULL");
  return query.bind(request.hold.stamp.value, Text{app}).next();
}

std::optional<Renewal> renew_one(Transaction& transaction, std::string_view app,
                                 const RenewRequest& request) {
  const std::int64_t lease_us = duration_cast<microseconds>(request.lease).count();
  if (request.permanent && is_permanent(transaction, app, request)) return Renewal{Duration::max()};
  std::optional<std::int64_t> boot_us;  // NULL: for ever
  std::optional<std::int64_t> wall_us;
  if (!request.permanent) {
    boot_us = transaction.now_us + lease_us;
    wall_us = transaction.wall_us + lease_us;
  }
  // Never shortens: max() of anything with NULL is NULL, so a permanent hold stays permanent.
  Query query = transaction.db.use(
      "UPDATE holds SET expires_boot_us = max(expires_boot_us, ?1), "
      "expires_wall_us = max(expires_wall_us, ?2), lease_us = max(lease_us, ?3), "
      "life_byte = CASE WHEN ?7 THEN NULL ELSE life_byte END "
      "WHERE stamp = ?4 AND app = ?5 AND (expires_boot_us IS NULL OR expires_boot_us > ?6) "
      "RETURNING expires_boot_us, life_byte");
  query.bind(boot_us, wall_us, lease_us, request.hold.stamp.value, Text{app}, transaction.now_us,
             std::int64_t{request.permanent || request.outlives_process});
  std::optional<Renewal> renewal;
  if (query.next()) {
    const std::optional<std::int64_t> ends_us = query.optional_integer(0);
    if (query.is_null(1)) transaction.must_survive = true;
    renewal =
        Renewal{ends_us ? Duration(microseconds(*ends_us - transaction.now_us)) : Duration::max()};
    query.run();  // to its end, otherwise the change does not count as finished
  }
  return renewal;
}

}  // namespace

Traits SqliteBackend::traits() const {
  Traits traits;
  traits.push_wakeup = has_futex;
  traits.queued_wakeup = has_futex;
  traits.bounded_overtaking = true;
  traits.lists_waiters = true;
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.ends_with_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  traits.observing = true;
  traits.converting = true;
  return traits;
}

Result<AcquireOutcome> SqliteBackend::try_acquire(const AcquireRequest& request) {
  std::shared_ptr<Ticket> ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  bool may_linger = ticket != nullptr;
  for (;;) {
    bool crowded = false;
    Result<AttemptResult> result = store_->write<AttemptResult>(
        request.by,
        [&](Transaction& transaction) {
          return Result(attempt(transaction, {request, ticket.get(), may_linger}, store_->slots()));
        },
        Store::Line::all, &crowded);
    if (!result && crowded && request.will_wait) return crowd(request, std::move(ticket));
    if (!result) return result.error();
    if (result->lingers) {
      // A newcomer was faster than this woken waiter. If it comes to the gate again to release,
      // this waiter is now behind it there, and before its next acquire. Without this second look,
      // a process that takes and releases the lock in a loop would always win against processes
      // that have to wake up first.
      may_linger = false;
      continue;
    }
    if (auto* busy = std::get_if<Busy>(&result->outcome); busy != nullptr && request.will_wait) {
      if (!ticket) ticket = std::make_shared<Ticket>();
      ticket->waiter = result->waiter;
      ticket->slot_value = result->slot_value;
      ticket->watched = std::move(result->watched);
      busy->ticket = std::move(ticket);
    }
    return std::move(result->outcome);
  }
}

// Others are served all the time, so there is no trouble that could end the wait: it goes on, as if
// a hold were in the way. (Nobody can say which.)
AcquireOutcome SqliteBackend::crowd(const AcquireRequest& request, std::shared_ptr<Ticket> ticket) {
  const LockRequest& first = request.set->items().front();
  Busy busy;
  busy.name = first.name;
  busy.mode = first.mode;
  busy.holder_label = "many others who use the lock database at once";
  if (!ticket) {
    ticket = std::make_shared<Ticket>();
    ticket->slot_value = store_->slots().value(WakeSlots::slot_of(ticket->waiter));
  }
  busy.ticket = std::move(ticket);
  return AcquireOutcome(std::move(busy));
}

Result<std::optional<Grant>> SqliteBackend::resolve(const HoldRef& attempt, TimePoint by) {
  return store_->read<std::optional<Grant>>(
      by, [&](Transaction& transaction) -> Result<std::optional<Grant>> {
        Grant grant;
        Items items;
        {
          // Not indexed: an answer is lost only if a commit meets an I/O error.
          Query row = transaction.db.use(
              "SELECT stamp, expires_boot_us, items FROM holds WHERE token = ?1 "
              "AND (expires_boot_us IS NULL OR expires_boot_us > ?2)");
          if (!row.bind(Blob{bytes_of(attempt.token)}, transaction.now_us).next())
            return std::optional<Grant>();
          grant.stamp = Stamp{row.integer(0)};
          const std::optional<std::int64_t> ends_us = row.optional_integer(1);
          grant.lease =
              ends_us ? Duration(microseconds(*ends_us - transaction.now_us)) : Duration::max();
          items = unpacked(row.bytes(2));
        }
        grant.store_time_us = transaction.now_us;
        for (const LockRequest& item : items) {
          grant.floors.push_back(look_at_name(transaction, item.name, nullptr).floor());
        }
        return std::optional<Grant>(std::move(grant));
      });
}

Result<RenewReply> SqliteBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                        TimePoint by) {
  return store_->write<RenewReply>(
      by,
      [&](Transaction& transaction) -> Result<RenewReply> {
        RenewReply reply;
        reply.store_time_us = transaction.now_us;
        reply.renewals.reserve(requests.size());
        for (const RenewRequest& request : requests) {
          reply.renewals.push_back(renew_one(transaction, owner.app, request));
        }
        return reply;
      },
      Store::Line::ahead);
}

namespace {

bool end_in(Transaction& transaction, Stamp stamp, std::optional<std::string_view> app) {
  const std::optional<StoredHold> hold = find_hold(transaction, stamp);
  if (!hold || (app && hold->app != *app)) return false;
  // An expired hold is removed as well, but this call did not end it.
  wake_for(transaction, remove_hold(transaction, stamp));
  return hold->live;
}

}  // namespace

Result<bool> SqliteBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return end_hold(hold.stamp, app, by);
}

// In one transaction: the releases share its gate and its fsync.
Result<std::vector<bool>> SqliteBackend::release_all(std::span<const HoldRef> holds,
                                                     std::string_view app, TimePoint by) {
  using Ended = std::vector<bool>;
  return store_->write<Ended>(
      by,
      [&](Transaction& transaction) -> Result<Ended> {
        Ended ended;
        for (const HoldRef& hold : holds) ended.push_back(end_in(transaction, hold.stamp, app));
        return ended;
      },
      Store::Line::ahead);
}

Result<bool> SqliteBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end_hold(hold.stamp, {}, by);
}

Result<bool> SqliteBackend::end_hold(Stamp stamp, std::optional<std::string_view> app,
                                     TimePoint by) {
  return store_->write<bool>(
      by, [&](Transaction& transaction) -> Result<bool> { return end_in(transaction, stamp, app); },
      Store::Line::ahead);
}

Status SqliteBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  const WakeSlots& slots = store_->slots();
  const std::uint32_t slot = WakeSlots::slot_of(mine->waiter);
  // Raises the slot's value, so that a stop between the look and the sleep is noticed.
  const std::stop_callback wake_up(stop, [&] { slots.wake(slot); });
  for (;;) {
    const TimePoint now = BootClock::now();
    if (now >= until || stop.stop_requested() || slots.value(slot) != mine->slot_value) return {};
    const bool somebody_died =
        std::any_of(mine->watched.begin(), mine->watched.end(),
                    [&](const Life& life) { return store_->liveness().is_over(life); });
    if (somebody_died) return {};
    const Duration rest = until - now;
    slots.sleep(slot, mine->slot_value, mine->watched.empty() ? rest : std::min(rest, watch_every));
  }
}

bool SqliteBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return false;
  if (store_->slots().value(WakeSlots::slot_of(mine->waiter)) != mine->slot_value) return true;
  const TimePoint now = BootClock::now();
  if (mine->watched.empty() || now < later(std::max(since, mine->watched_at), watch_every)) {
    return false;
  }
  mine->watched_at = now;
  return std::any_of(mine->watched.begin(), mine->watched.end(),
                     [&](const Life& life) { return store_->liveness().is_over(life); });
}

void SqliteBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->waiter == 0) return;
  const Result<bool> done = store_->write<bool>(by, [&](Transaction& transaction) -> Result<bool> {
    leave_line(transaction, mine->waiter);
    return true;
  });
  static_cast<void>(done);  // the row expires on its own
}

Result<Inspection> SqliteBackend::inspect(const InspectQuery& query, TimePoint by) {
  return store_->read<Inspection>(by, [&](Transaction& transaction) -> Result<Inspection> {
    return Inspection{list_holds(transaction, query), list_waiters(transaction, query)};
  });
}

Result<SpaceConfig> SqliteBackend::load_config(TimePoint by) {
  return store_->read<SpaceConfig>(
      by, [](Transaction& transaction) -> Result<SpaceConfig> { return load(transaction); });
}

Result<SpaceConfig> SqliteBackend::change_config(const ConfigChange& change, TimePoint by) {
  return store_->write<SpaceConfig>(by, [&](Transaction& transaction) -> Result<SpaceConfig> {
    // Any change makes the waiters' requests stale; new permits may admit them. If the change is
    // refused, nothing is committed, and nobody is woken.
    wake_all(transaction);
    return apply(transaction, change);
  });
}

Result<std::size_t> SqliteBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  return store_->write<std::size_t>(by, [&](Transaction& transaction) -> Result<std::size_t> {
    std::int64_t present = 0;
    {
      Query row = transaction.db.use("SELECT epoch FROM epochs WHERE app = ?");
      if (row.bind(Text{app}).next()) present = row.integer(0);
    }
    if (present > epoch) {
      return newer_epoch(app, std::to_string(present));
    }
    const std::optional<StoredHold> own = find_hold(transaction, Stamp{epoch});
    if (!own || !own->live || own->app != app) {
      return no_live_epoch(app, epoch);
    }
    // If the call is repeated (the first answer may have been lost), it ends the holds taken since.
    if (present < epoch) set_epoch(transaction, app, epoch);
    std::vector<Stamp> old;
    std::size_t live = 0;
    {
      Query row = transaction.db.use(
          "SELECT stamp, expires_boot_us IS NULL OR expires_boot_us > ?1 FROM holds "
          "WHERE app = ?2 AND epoch < ?3 AND stamp <> ?3");
      row.bind(transaction.now_us, Text{app}, epoch);
      while (row.next()) {
        old.push_back(Stamp{row.integer(0)});
        if (row.integer(1) != 0) ++live;
      }
    }
    for (const Stamp stamp : old) wake_for(transaction, remove_hold(transaction, stamp));
    wake_all(transaction);
    transaction.must_survive = true;  // also where the epoch was known already
    return live;
  });
}

Result<std::size_t> SqliteBackend::sweep(TimePoint by) {
  const std::lock_guard lock(sweep_mutex_);
  bool waiters_expired = false;
  // Finds them without blocking writers; only expired holds cost the writers time.
  Result<std::vector<Stamp>> found = store_->read<std::vector<Stamp>>(
      by, [&](Transaction& transaction) -> Result<std::vector<Stamp>> {
        Query row = transaction.db.use("SELECT 1 FROM waiters WHERE expires_boot_us <= ? LIMIT 1");
        waiters_expired = row.bind(transaction.now_us).next();
        const bool from_the_start = sweep_from_ == 0;
        std::vector<Stamp> expired = find_expired(transaction, sweep_from_, sweep_looks);
        if (!from_the_start && sweep_from_ == 0) {
          for (const Stamp stamp : find_expired(transaction, sweep_from_, sweep_looks)) {
            expired.push_back(stamp);
          }
        }
        return expired;
      });
  if (!found) return found.error();
  if (found->size() > sweep_removes) {
    found->resize(sweep_removes);
    sweep_from_ = found->back().value;
  }
  if (found->empty() && !waiters_expired) return std::size_t{0};
  return store_->write<std::size_t>(by, [&](Transaction& transaction) -> Result<std::size_t> {
    std::size_t removed = 0;
    for (const Stamp stamp : *found) {
      // Checks again under the lock: a renewal may have come in between.
      const std::optional<StoredHold> hold = find_hold(transaction, stamp);
      if (!hold || hold->live) continue;
      wake_for(transaction, remove_hold(transaction, stamp));
      ++removed;
    }
    remove_expired_waiters(transaction);
    return removed;
  });
}

// Usually a look is enough, which blocks no writer and costs no fsync.
Result<ObserveOutcome> SqliteBackend::observe(const ObserveRequest& request) {
  Result<std::optional<ObserveOutcome>> seen = store_->read<std::optional<ObserveOutcome>>(
      request.by, [&](Transaction& transaction) -> Result<std::optional<ObserveOutcome>> {
        return observe_unchanged(transaction, request);
      });
  if (!seen) return std::move(seen).error();
  if (*seen) return std::move(**seen);
  return store_->write<ObserveOutcome>(request.by,
                                       [&](Transaction& transaction) -> Result<ObserveOutcome> {
                                         return sqlite::observe(transaction, request);
                                       });
}

Result<std::size_t> SqliteBackend::sweep_traces(Duration unobserved, TimePoint by) {
  using Names = std::vector<std::string>;
  const Result<Names> found =
      store_->read<Names>(by, [&](Transaction& transaction) -> Result<Names> {
        return find_unobserved(transaction, unobserved);
      });
  if (!found) return found.error();
  if (found->empty()) return std::size_t{0};
  return store_->write<std::size_t>(by, [&](Transaction& transaction) -> Result<std::size_t> {
    return remove_unobserved(transaction, *found, unobserved);
  });
}

}  // namespace lockset::sqlite
