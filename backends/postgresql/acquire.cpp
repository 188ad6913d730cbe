// Attempts to acquire a set, and the waits between them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/answers.h"
#include "backends/conversion.h"
#include "backends/postgresql/backend.h"
#include "core/machine.h"
#include "core/time_math.h"

namespace lockset::postgresql {
namespace {

using std::chrono::milliseconds;

std::string uuid_of(const Token& token) { return token.hex(); }

// How often a waiter looks if no connection hears wake-ups.
constexpr milliseconds deaf_poll{500};
// How long, at most, a waiting attempt stays to have that connection made.
constexpr milliseconds listen_within{1000};

}  // namespace

class PostgresqlBackend::Ticket : public WaitTicket {
 public:
  std::shared_ptr<server::Listener::Subscription> subscription;  // null with listen=off
  std::int64_t waiter = 0;                                       // its number in the store's line
  std::uint64_t seen = 0;     // wake-ups that had arrived before the last attempt
  std::uint64_t session = 0;  // of the listener, at that time
};

Result<PostgresqlBackend::Ears> PostgresqlBackend::ears_for(const AcquireRequest& request,
                                                            const Ticket* ticket) {
  Ears ears;
  if (!request.will_wait || !store_->options().listen) return ears;
  const bool in_line = ticket && ticket->waiter != 0;
  if (listener_.session() == 0 && !in_line) {
    // Connects if needed. If it went by what an earlier connection saw, all clients that come back
    // at once would find the same room.
    if (Status connected = store_->connect_for_waiting(request.by); !connected) {
      return connected.error();
    }
    if (store_->crowded()) return ears;
  }
  ears.subscription = ticket && ticket->subscription ? ticket->subscription : listener_.subscribe();
  // Both are read before the attempt is sent: whatever arrives later is for the wait after it.
  ears.session = listener_.session();
  ears.seen = ears.subscription->wakes();
  if (ticket) {
    ears.waiter = ticket->waiter;
    ears.woken = ears.seen != ticket->seen;
  }
  return ears;
}

Status PostgresqlBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  if (!mine->subscription) {
    sleep_until(until, stop);
    return {};
  }
  if (mine->session == 0) until = std::min(until, BootClock::now() + deaf_poll);
  mine->subscription->sleep(mine->seen, mine->session, until, std::move(stop));
  return {};
}

bool PostgresqlBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || !mine->subscription) return false;
  if (mine->session == 0 && BootClock::now() >= later(since, deaf_poll)) return true;
  return mine->subscription->is_over(mine->seen, mine->session);
}

void PostgresqlBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->waiter == 0) return;
  const bool woken = mine->subscription->wakes() != mine->seen;
  CallFailure failure;
  std::uint32_t collisions = 0;
  // The row expires by itself if this fails.
  static_cast<void>(
      store_->call(Lane::common, end_wait_, by, failure, collisions, mine->waiter, woken).ok());
}

Result<pqxx::result> PostgresqlBackend::convert(const AcquireRequest& request,
                                                std::uint32_t& collisions, CallFailure& failure) {
  const auto items = request.set->items();
  const bool bounded = request.max_overtakes != unlimited_overtakes && !is_downgrade(request);
  const std::string most = bounded ? std::to_string(request.max_overtakes) : std::string();
  return store_->call(
      Lane::acquire, convert_, request.by, failure, collisions, array_of_names(items),
      array_of_modes(items), array_of_numbers(request.permits), request.config_version,
      micros(request.lease), request.min_stamp.value, uuid_of(request.token), request.owner->app,
      request.owner->instance, request.owner->epoch, request.owner->label,
      bounded ? most.c_str() : static_cast<const char*>(nullptr), request.replaces->stamp.value);
}

Result<Reply> PostgresqlBackend::ask_once(const AcquireRequest& request, const Ears& ears,
                                          std::uint32_t& collisions, CallFailure& failure) {
  const auto items = request.set->items();
  const bool bounded = request.max_overtakes != unlimited_overtakes;
  const std::string most = bounded ? std::to_string(request.max_overtakes) : std::string();
  const auto call = [&](const Statement& statement, const auto&... more) {
    return store_->call(
        Lane::acquire, statement, request.by, failure, collisions, array_of_names(items),
        array_of_modes(items), array_of_numbers(request.permits), request.config_version,
        micros(request.lease), request.min_stamp.value, uuid_of(request.token), request.owner->app,
        request.owner->instance, request.owner->epoch, request.owner->label, ears.waiter,
        ears.woken, ears.subscription ? channel_of(listener_) : std::string(),
        ears.subscription ? std::to_string(ears.subscription->number()) : std::string(),
        bounded ? most.c_str() : static_cast<const char*>(nullptr), more...);
  };
  const Result<pqxx::result> result =
      request.replaces != nullptr ? convert(request, collisions, failure)
      : request.unchanged_since.empty()
          ? call(acquire_)
          : call(acquire_unchanged_, array_of_expected(request.unchanged_since, items.size()));
  if (!result) return result.error();
  Reply reply = parse_reply((*result)[0][0].c_str());
  if (reply.kind == Reply::Kind::granted && reply.grant.floors.empty()) {
    // The set was free.
    reply.grant.floors.assign(items.size(), reply.grant.stamp);
  }
  return reply;
}

Result<Reply> PostgresqlBackend::ask(const AcquireRequest& request, const Ears& ears,
                                     std::uint32_t& collisions) {
  for (;;) {
    CallFailure failure;
    Result<Reply> reply = ask_once(request, ears, collisions, failure);
    if (reply || failure.sqlstate != sqlstate_unknown_name) return reply;
    // The name is used for the first time, or again after a long while.
    const Result<pqxx::result> known = store_->call(
        Lane::common, know_, request.by, failure, collisions, array_of_names(request.set->items()));
    if (!known) return known.error();
    if (BootClock::now() >= request.by) return reply;
  }
}

Result<AcquireOutcome> PostgresqlBackend::try_acquire(const AcquireRequest& request) {
  std::shared_ptr<Ticket> ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  std::uint32_t collisions = 0;
  bool asked_to_listen = false;
  for (;;) {
    const Result<Ears> heard = ears_for(request, ticket.get());
    if (!heard) return heard.error();
    const Ears& ears = *heard;
    Result<Reply> reply = ask(request, ears, collisions);
    if (!reply) return reply.error();
    switch (reply->kind) {
      case Reply::Kind::granted:
        reply->grant.collisions = collisions;
        return AcquireOutcome(std::move(reply->grant));
      case Reply::Kind::stale:
        return AcquireOutcome(Stale{});
      case Reply::Kind::quarantine:
        return quarantine(reply->left, "no new grants");
      case Reply::Kind::changed:
        return AcquireOutcome(std::move(reply->changed));
      case Reply::Kind::busy:
        break;
      case Reply::Kind::nothing:
        if (request.replaces == nullptr) return nonsense("an acquire");
        return AcquireOutcome(Gone{});
      default:
        return nonsense("an acquire");
    }
    reply->busy.collisions = collisions;
    if (!request.will_wait) return AcquireOutcome(std::move(reply->busy));
    if (!ticket) ticket = std::make_shared<Ticket>();
    ticket->subscription = ears.subscription;
    ticket->waiter = reply->waiter;
    ticket->seen = ears.seen;
    ticket->session = ears.session;
    if (!ticket->subscription && store_->options().listen) store_->close_idle();
    // The first to wait: once the listener is connected it looks again, because it did not hear
    // what was sent before.
    if (ticket->subscription && ears.session == 0 && !asked_to_listen) {
      asked_to_listen = true;
      if (listener_.start(std::min(request.by, BootClock::now() + listen_within))) continue;
    }
    reply->busy.ticket = std::move(ticket);
    return AcquireOutcome(std::move(reply->busy));
  }
}

Result<std::optional<Grant>> PostgresqlBackend::resolve(const HoldRef& attempt, TimePoint by) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  // If no name is known, the function searches the holds.
  const std::string name = attempt.set != nullptr ? attempt.set->items().front().name : "";
  const Result<pqxx::result> result =
      store_->call(Lane::common, resolve_, by, failure, collisions, uuid_of(attempt.token), name);
  if (!result) return result.error();
  Reply reply = parse_reply((*result)[0][0].c_str());
  if (reply.kind == Reply::Kind::nothing) return std::optional<Grant>();
  if (reply.kind != Reply::Kind::granted) return nonsense("a look-up");
  return std::optional<Grant>(std::move(reply.grant));
}

}  // namespace lockset::postgresql
