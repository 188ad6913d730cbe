// Attempts to acquire a set, and the waits between them.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "backends/answers.h"
#include "backends/conversion.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/sql.h"
#include "core/time_math.h"

namespace lockset::mysql {
namespace {

using std::chrono::microseconds;

// How often a waiter looks if no connection is told of wake-ups.
constexpr Duration deaf_poll = std::chrono::seconds(1);
// The same while that connection is being made, which may take a while on a busy machine.
constexpr Duration connecting_poll = std::chrono::seconds(5);
// How long, at most, a waiting attempt stays to have that connection made.
constexpr Duration listen_within = std::chrono::seconds(1);

std::string items_json(const AcquireRequest& request) {
  std::string json = "[";
  const auto items = request.set->items();
  auto expected = request.unchanged_since.begin();
  for (std::size_t i = 0; i < items.size(); ++i) {
    json += json.size() > 1 ? ",[" : "[";
    json += json_string(items[i].name) + "," + std::to_string(number(items[i].mode)) + "," +
            std::to_string(request.permits[i]);
    if (expected != request.unchanged_since.end() && expected->item == i) {
      json += "," + std::to_string((expected++)->last_write.value);
    }
    json += "]";
  }
  return json + "]";
}

// Where the answer to a waiter goes.
struct Ears {
  std::shared_ptr<server::Listener::Subscription> subscription;  // null: it is not registered
  std::uint64_t seen = 0;   // wake-ups that had arrived before the attempt
  std::int64_t waiter = 0;  // 0: not registered yet
};

std::string acquire_text(const Store& store, const AcquireRequest& request, const Ears& ears,
                         const std::string& listener) {
  const auto items = request.set->items();
  const LockRequest& first = items.front();
  const Strategy strategy = store.options().strategy;
  const bool converts = request.replaces != nullptr;
  // The short procedure is for names that nobody waits for; a waiter would pass through it in vain.
  const bool one =
      items.size() == 1 && request.unchanged_since.empty() && !converts && ears.waiter == 0;
  CallText call(
      store.name(converts ? convert_procedure_name(strategy) : acquire_procedure_name(strategy)) +
      (one ? "_one" : ""));
  call.number(request.config_version).bytes(first.name);
  if (one) {
    call.number(request.permits[0]);
  } else {
    if (items.size() == 1) {
      call.null();
    } else {
      call.bytes(packed_names(*request.set));
    }
    call.utf8(items_json(request)).number(static_cast<std::int64_t>(items.size()));
  }
  call.number(number(first.mode))
      .number(us(request.lease))
      .bytes(bytes_of(request.token))
      .bytes(request.owner->app)
      .bytes(request.owner->instance)
      .number(request.owner->epoch)
      .bytes(label_of(*request.owner))
      .number(request.min_stamp.value)
      // After this time, a call that still waits for a lock has no caller left to take the grant.
      .number(std::max<std::int64_t>(us(request.by - BootClock::now()), 0))
      .number(ears.waiter)
      .number(is_downgrade(request) ? unlimited_overtakes : request.max_overtakes);
  if (ears.subscription) {
    call.bytes(listener).number(static_cast<std::int64_t>(ears.subscription->number()));
  } else {
    call.null().null();
  }
  if (converts) call.number(request.replaces->stamp.value);
  return call.str();
}

}  // namespace

class MysqlBackend::Ticket : public WaitTicket {
 public:
  explicit Ticket(Ears open) : ears(std::move(open)) {}
  Ears ears;
};

Result<AcquireOutcome> MysqlBackend::try_acquire(const AcquireRequest& request) {
  const auto* const ticket = dynamic_cast<const Ticket*>(request.ticket.get());
  Ears ears;
  if (ticket != nullptr) {
    ears = ticket->ears;
  } else if (request.will_wait) {
    if (Status connected = store_->connect_for_waiting(request.by); !connected) {
      return connected.error();
    }
    if (!store_->crowded()) ears.subscription = listener_.subscribe();
  }
  // Read before the attempt is sent: what arrives later is for the wait after it.
  if (ears.subscription) ears.seen = ears.subscription->wakes();
  std::uint32_t collisions = 0;
  const Result<Reply> answer = store_->run(acquire_text(*store_, request, ears, listener_.name()),
                                           Sent::change, request.by, Lane::common, &collisions);
  if (!answer) return answer.error();
  if (answer->rows.size() != 1) return nonsense(*store_);
  const std::string& outcome = answer->text(0);
  if (outcome == "granted") return granted(request, *answer, collisions);
  if (outcome == "busy") {
    AcquireOutcome outcome_of_it = busy(*answer, collisions, request.by);
    if (request.will_wait) {
      ears.waiter = answer->number(4);
      auto& met = std::get<Busy>(outcome_of_it);
      met.ticket = wait_with(std::make_shared<Ticket>(std::move(ears)), request.by);
    }
    return outcome_of_it;
  }
  if (outcome == "stale") return AcquireOutcome(Stale{});
  if (outcome == "gone") {
    wake(answer->text(1), request.by);
    return AcquireOutcome(Gone{});
  }
  if (outcome == "quarantine") return quarantine(microseconds(answer->number(1)), "no new grants");
  if (outcome == "changed") return changed(*answer, request.by);
  if (outcome == "unsure") {
    return error_from(not_kept, "changed over under the commit", store_->options().shown(),
                      Sent::change);
  }
  if (outcome == "late") {
    return Error{Errc::unavailable, store_->options().shown() +
                                        ": the names' rows stayed locked until the deadline; "
                                        "nothing was applied"};
  }
  return nonsense(*store_);
}

Result<AcquireOutcome> MysqlBackend::granted(const AcquireRequest& request, const Reply& answer,
                                             std::uint32_t collisions) {
  const auto items = request.set->items();
  Grant grant;
  grant.stamp = Stamp{answer.number(1)};
  grant.store_time_us = answer.number(2);
  grant.lease = left_of(answer.optional_number(3));
  grant.collisions = collisions;
  for (const std::int64_t floor : numbers_of(answer.text(4))) {
    grant.floors.push_back(floor != 0 ? Stamp{floor} : grant.stamp);
  }
  if (grant.floors.empty()) grant.floors.assign(items.size(), grant.stamp);
  if (grant.floors.size() != items.size()) {
    return Error{Errc::indeterminate, nonsense(*store_).message};
  }
  wake(answer.text(5), request.by);
  return AcquireOutcome(std::move(grant));
}

AcquireOutcome MysqlBackend::busy(const Reply& answer, std::uint32_t collisions, TimePoint by) {
  Busy busy;
  busy.holder = Stamp{answer.number(1)};
  if (const auto left_us = answer.optional_number(3)) busy.retry_after = microseconds(*left_us);
  busy.name = answer.text(5);
  busy.mode = mode_of(answer.number(6));
  busy.holder_label = answer.text(7);
  busy.collisions = collisions;
  wake(answer.text(8), by);
  return {std::move(busy)};
}

AcquireOutcome MysqlBackend::changed(const Reply& answer, TimePoint by) {
  Changed changed;
  changed.item = static_cast<std::size_t>(answer.number(1));
  changed.trace.last_write = Stamp{answer.number(3)};
  if (const auto granted_us = answer.optional_number(4)) {
    changed.trace.age_us = std::max<std::int64_t>(0, answer.number(2) - *granted_us);
  }
  changed.trace.label = answer.text(5);
  wake(answer.text(6), by);
  return {std::move(changed)};
}

std::shared_ptr<WaitTicket> MysqlBackend::wait_with(std::shared_ptr<Ticket> ticket, TimePoint by) {
  // Without a ticket the client comes back to look, over a connection that counts the connections
  // again. With a ticket it keeps one: a call beside another may have opened a second.
  if (store_->crowded()) store_->close_idle(ticket->ears.subscription ? 1 : 0);
  if (!ticket->ears.subscription) return nullptr;
  if (listener_.session() == 0 && !store_->crowded()) {
    listener_.start(std::min(by, BootClock::now() + listen_within));
  }
  return ticket;
}

void MysqlBackend::wake(std::string_view listeners, TimePoint by) {
  while (!listeners.empty()) {
    const std::string_view one = listeners.substr(0, listeners.find(','));
    listeners.remove_prefix(std::min(one.size() + 1, listeners.size()));
    const bool is_name = one.size() == listener_.name().size() &&
                         one.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    // It may be gone, or another account's: then it looks by itself.
    if (is_name) static_cast<void>(store_->run(wake_text(one), Sent::nothing, by).ok());
  }
}

Result<std::optional<Grant>> MysqlBackend::resolve(const HoldRef& attempt, TimePoint by) {
  // If the first name is not known, the statement searches the holds.
  const bool named = attempt.set != nullptr;
  const std::string sql =
      "SELECT f.stamp, f.expires - c.now_us, c.now_us, "
      "(SELECT MIN(m.stamp) FROM {space}_locks m WHERE m.name = i.name) "
      "FROM (SELECT {now} AS now_us) c CROSS JOIN {space}_locks f "
      "JOIN {space}_locks i FORCE INDEX (by_stamp) ON i.stamp = f.stamp "
      "WHERE " +
      (named ? "f.name = " + hex_literal(attempt.set->items().front().name) + " AND "
             : std::string()) +
      "f.item = 0 AND f.token = " + hex_literal(bytes_of(attempt.token)) +
      " AND (f.expires IS NULL OR f.expires > c.now_us) ORDER BY i.item";
  const Result<Reply> rows =
      store_->run(filled_in(sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  if (rows->rows.empty()) return std::optional<Grant>();
  Grant grant;
  grant.stamp = Stamp{rows->number(0)};
  grant.lease = left_of(rows->optional_number(1));
  grant.store_time_us = rows->number(2);
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    grant.floors.push_back(Stamp{rows->number(3, row)});
  }
  return std::optional<Grant>(std::move(grant));
}

Status MysqlBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  server::Listener::Subscription& subscription = *mine->ears.subscription;
  const bool is_coming = !store_->crowded() && !parking_.failed();
  const TimePoint deaf_until =
      std::min(until, BootClock::now() + (is_coming ? connecting_poll : deaf_poll));
  for (;;) {
    const std::uint64_t session = listener_.session();
    const TimePoint end = session == 0 ? deaf_until : until;
    subscription.sleep(mine->ears.seen, session, end, stop);
    // Another connection is no reason to look: it tells what was marked before it was there.
    if (subscription.wakes() != mine->ears.seen || stop.stop_requested() ||
        BootClock::now() >= end) {
      return {};
    }
  }
}

bool MysqlBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr) return false;
  const bool is_coming = !store_->crowded() && !parking_.failed();
  const TimePoint deaf_until = later(since, is_coming ? connecting_poll : deaf_poll);
  if (listener_.session() == 0 && BootClock::now() >= deaf_until) return true;
  return mine->ears.subscription->wakes() != mine->ears.seen;
}

void MysqlBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->ears.waiter == 0) return;
  const Result<Reply> done = store_->run(
      CallText(store_->name("_end_wait")).number(mine->ears.waiter).bytes(listener_.name()).str(),
      Sent::change, by);
  // Otherwise the row expires by itself.
  if (done && done->rows.size() == 1) wake(done->text(0), by);
}

}  // namespace lockset::mysql
