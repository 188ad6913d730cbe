#include "backends/postgresql/backend.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "core/machine.h"

namespace lockset::postgresql {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

std::int64_t micros(Duration duration) { return duration_cast<microseconds>(duration).count(); }

std::string uuid_of(const Token& token) { return token.hex(); }

std::chrono::system_clock::time_point wall_time(std::int64_t since_us) {
  return std::chrono::system_clock::time_point(
      duration_cast<std::chrono::system_clock::duration>(microseconds(since_us)));
}

// Without a connection that hears wake-ups a waiter looks so often.
constexpr milliseconds deaf_poll{500};
// The longest that a waiting attempt stays to have that connection made.
constexpr milliseconds listen_within{1000};

// Errc::unavailable while the space's rows are being put back from a backup: without them, the
// defaults would pass for its configuration.
Result<SpaceConfig> config_from(const pqxx::result& rows, const std::string& shown) {
  SpaceConfig config;
  bool has_version = false;
  bool has_longest = false;
  for (const pqxx::row& row : rows) {
    const std::string kind = row[0].as<std::string>();
    if (row[3].is_null()) continue;
    has_version = has_version || kind == "v";
    has_longest = has_longest || kind == "l";
    const std::int64_t value = row[3].as<std::int64_t>();
    if (kind == "v") config.version = value;
    if (kind == "l") config.max_lease = microseconds(value);
    if (kind == "m") config.migration_phase = value;
    if (kind == "b") config.stamp_base = Stamp{value};
    if (kind == "e") config.epochs[row[1].as<std::string>()] = value;
    if (kind == "p") {
      SpaceConfig::Entry& entry = config.permits[row[1].as<std::string>()];
      const bool reads = mode_from(row[2].as<std::string>()) == Mode::read;
      (reads ? entry.read : entry.write) = static_cast<std::uint32_t>(value);
    }
  }
  if (!has_version || !has_longest) return is_incomplete(shown);
  return config;
}

Inspection inspection_from(const pqxx::result& rows) {
  Inspection all;
  std::string last_kind;
  std::int64_t last_id = 0;
  for (const pqxx::row& row : rows) {
    const std::string kind = row[0].as<std::string>();
    const std::int64_t id = row[1].as<std::int64_t>();
    const bool first = kind != last_kind || id != last_id;
    last_kind = kind, last_id = id;
    const LockRequest item{row[8].as<std::string>(), mode_from(row[9].as<std::string>())};
    if (!first) {
      (kind == "h" ? all.holds.back().items : all.waiters.back().items).push_back(item);
      continue;
    }
    Owner owner{row[2].as<std::string>(), row[3].as<std::string>(), row[4].as<std::int64_t>(),
                row[5].as<std::string>()};
    const auto since = wall_time(row[6].as<std::int64_t>());
    if (kind == "h") {
      HoldInfo info{Stamp{id}, {item}, std::move(owner), since, {}};
      if (!row[7].is_null()) info.remaining = microseconds(row[7].as<std::int64_t>());
      all.holds.push_back(std::move(info));
    } else {
      all.waiters.push_back({{item}, std::move(owner), since});
    }
  }
  return all;
}

}  // namespace

// --- waiting ---

class PostgresqlBackend::Ticket : public WaitTicket {
 public:
  std::shared_ptr<connections::Listener::Place> place;  // null with listen=off
  std::int64_t waiter = 0;                              // its number in the store's line
  std::uint64_t seen = 0;     // wake-ups that had arrived before the last attempt
  std::uint64_t session = 0;  // of the listener, then
};

Result<PostgresqlBackend::Ears> PostgresqlBackend::ears_for(const AcquireRequest& request,
                                                            const Ticket* ticket) {
  Ears ears;
  if (!request.will_wait || !store_->options().listen) return ears;
  const bool in_line = ticket && ticket->waiter != 0;
  if (listener_.session() == 0 && !in_line) {
    // Connects if need be. By what the connection before saw, all who come back at once would find
    // the same room.
    if (Status connected = store_->connect_for_waiting(request.by); !connected) {
      return connected.error();
    }
    if (store_->crowded()) return ears;
  }
  ears.place = ticket && ticket->place ? ticket->place : listener_.new_place();
  // Both before the attempt is sent: what comes later is for the wait after it.
  ears.session = listener_.session();
  ears.seen = ears.place->wakes();
  if (ticket) {
    ears.waiter = ticket->waiter;
    ears.woken = ears.seen != ticket->seen;
  }
  return ears;
}

Status PostgresqlBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return Error{Errc::internal, "a wait ticket of another backend"};
  if (!mine->place) {
    sleep_until(until, stop);
    return {};
  }
  if (mine->session == 0) until = std::min(until, BootClock::now() + deaf_poll);
  mine->place->sleep(mine->seen, mine->session, until, std::move(stop));
  return {};
}

void PostgresqlBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->waiter == 0) return;
  const bool woken = mine->place->wakes() != mine->seen;
  Failure failure;
  std::uint32_t collisions = 0;
  // The row expires by itself if this fails.
  static_cast<void>(
      store_->call(Use::plain, end_wait_, by, failure, collisions, mine->waiter, woken).ok());
}

// --- the set ---

PostgresqlBackend::PostgresqlBackend(std::unique_ptr<Store> store)
    : store_(std::move(store)),
      listener_(listening(*store_)),
      acquire_(store_->statement(
          "acquire",
          "@acquire_v2($1::pg_catalog.text[],$2::pg_catalog.\"char\"[],$3::pg_catalog.int4[],$4::"
          "pg_catalog.int8,$5::pg_catalog.int8,$6::pg_catalog.int8,"
          "$7::pg_catalog.uuid,$8::pg_catalog.text,$9::pg_catalog.text,$10::pg_catalog.int8,$11::"
          "pg_catalog.text,$12::pg_catalog.int8,$13::pg_catalog.bool,$14::pg_catalog.text,"
          "$15::pg_catalog.text)",
          Sent::change)),
      // Harmless, however often it is applied.
      know_(store_->statement("know", "@know_v2($1::pg_catalog.text[])", Sent::reading)),
      resolve_(store_->statement("resolve", "@resolve_v2($1::pg_catalog.uuid,$2::pg_catalog.text)",
                                 Sent::reading)),
      renew_(store_->statement(
          "renew",
          "* FROM @renew_v2($1::pg_catalog.text,$2::pg_catalog.int8[],$3::pg_catalog.int8[])",
          Sent::change)),
      release_(store_->statement("release", "@release_v2($1::pg_catalog.int8,$2::pg_catalog.text)",
                                 Sent::change)),
      release_all_(store_->statement("release_all",
                                     "s, @release_v2(s,$2::pg_catalog.text) FROM "
                                     "pg_catalog.unnest($1::pg_catalog.int8[]) s",
                                     Sent::change)),
      break_(store_->statement("break", "@break_v2($1::pg_catalog.int8)", Sent::change,
                               Role::operators)),
      end_wait_(store_->statement(
          "end_wait", "@end_wait_v2($1::pg_catalog.int8,$2::pg_catalog.bool)", Sent::change)),
      inspect_(store_->statement("inspect",
                                 "* FROM @inspect_v2($1::pg_catalog.\"char\",$2::pg_catalog.text)",
                                 Sent::reading)),
      load_(store_->statement("load_config", "* FROM @load_config_v2()", Sent::reading)),
      change_(store_->statement("change_config",
                                "* FROM "
                                "@change_config_v2($1::pg_catalog.\"char\",$2::pg_catalog.text,$3::"
                                "pg_catalog.\"char\",$4::pg_catalog.int8)",
                                Sent::change, Role::operators)),
      // A space that an older program made has it after `lockset init`, as the error then says.
      change_at_(
          store_->statement("change_config_at",
                            "* FROM "
                            "@change_config_at_v2($1::pg_catalog.int8,'m'::pg_catalog.\"char\",''::"
                            "pg_catalog.text,''::pg_catalog.\"char\",$2::pg_catalog.int8)",
                            Sent::change, Role::operators)),
      reclaim_(store_->statement("reclaim", "@reclaim_v2($1::pg_catalog.text,$2::pg_catalog.int8)",
                                 Sent::change)),
      sweep_(store_->statement("sweep", "* FROM @sweep_v2($1::pg_catalog.int8,$2::pg_catalog.text)",
                               Sent::change)) {}

Traits PostgresqlBackend::traits() const {
  Traits traits;
  traits.push_wakeup = store_->options().listen;
  traits.queued_wakeup = store_->options().listen;
  traits.lists_waiters = store_->options().listen;
  traits.permanent_leases = true;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  return traits;
}

Error PostgresqlBackend::nonsense(const std::string& where) const {
  return Error{Errc::internal, "PostgreSQL (" + store_->options().shown + "): an answer to " +
                                   where + " that makes no sense"};
}

Result<Reply> PostgresqlBackend::ask_once(const AcquireRequest& request, const Ears& ears,
                                          std::uint32_t& collisions, Failure& failure) {
  const auto items = request.set->items();
  const Result<pqxx::result> result = store_->call(
      Use::acquire, acquire_, request.by, failure, collisions, array_of_names(items),
      array_of_modes(items), array_of_numbers(request.permits), request.config_version,
      micros(request.lease), request.min_stamp.value, uuid_of(request.token), request.owner->app,
      request.owner->instance, request.owner->epoch, request.owner->label, ears.waiter, ears.woken,
      ears.place ? channel_of(listener_) : std::string(),
      ears.place ? std::to_string(ears.place->number()) : std::string());
  if (!result) {
    if (result.error().may_have_applied()) doubts_.add(request.token, items.front().name);
    return result.error();
  }
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
    Failure failure;
    Result<Reply> reply = ask_once(request, ears, collisions, failure);
    if (reply || failure.sqlstate != sqlstate_unknown_name) return reply;
    // A name that is used for the first time, or again after a long while.
    const Result<pqxx::result> known = store_->call(
        Use::plain, know_, request.by, failure, collisions, array_of_names(request.set->items()));
    if (!known) return known.error();
    if (BootClock::now() >= request.by) return reply;
  }
}

Result<AcquireOutcome> PostgresqlBackend::stale(TimePoint by) {
  Result<SpaceConfig> config = load_config(by);
  if (!config) return config.error();
  return AcquireOutcome(Stale{*std::move(config)});
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
        return stale(request.by);
      case Reply::Kind::busy:
        break;
      default:
        return nonsense("an acquire");
    }
    reply->busy.collisions = collisions;
    if (!request.will_wait) return AcquireOutcome(std::move(reply->busy));
    if (!ticket) ticket = std::make_shared<Ticket>();
    ticket->place = ears.place;
    ticket->waiter = reply->waiter;
    ticket->seen = ears.seen;
    ticket->session = ears.session;
    if (!ticket->place && store_->options().listen) store_->close_idle();
    // The first who waits: once somebody listens it looks again, as what was sent before
    // has not been heard.
    if (ticket->place && ears.session == 0 && !asked_to_listen) {
      asked_to_listen = true;
      if (listener_.start(std::min(request.by, BootClock::now() + listen_within))) continue;
    }
    reply->busy.ticket = std::move(ticket);
    return AcquireOutcome(std::move(reply->busy));
  }
}

// --- holds ---

void PostgresqlBackend::Doubts::add(const Token& token, const std::string& name) {
  constexpr std::size_t most = 10'000;
  const std::lock_guard lock(mutex_);
  if (!names_.emplace(token.hex(), name).second) return;
  order_.push_back(token.hex());
  if (order_.size() <= most) return;
  names_.erase(order_.front());
  order_.pop_front();
}

std::string PostgresqlBackend::Doubts::name_of(const Token& token) const {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(token.hex());
  return found == names_.end() ? std::string() : found->second;
}

Result<std::optional<Grant>> PostgresqlBackend::resolve(const Token& token, TimePoint by) {
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> result = store_->call(Use::plain, resolve_, by, failure, collisions,
                                                   uuid_of(token), doubts_.name_of(token));
  if (!result) return result.error();
  Reply reply = parse_reply((*result)[0][0].c_str());
  if (reply.kind == Reply::Kind::nothing) return std::optional<Grant>();
  if (reply.kind != Reply::Kind::granted) return nonsense("a look-up");
  return std::optional<Grant>(std::move(reply.grant));
}

Result<RenewReply> PostgresqlBackend::renew(const Owner& owner,
                                            std::span<const RenewRequest> requests, TimePoint by) {
  // Each stamp once and in order, so that no two calls wait for one another.
  std::map<Stamp, std::int64_t> wanted;
  for (const RenewRequest& request : requests) {
    const std::int64_t lease = request.permanent ? -1 : micros(request.lease);
    const auto [entry, fresh] = wanted.try_emplace(request.stamp, lease);
    if (!fresh && entry->second >= 0)
      entry->second = lease < 0 ? -1 : std::max(entry->second, lease);
  }
  std::vector<std::int64_t> stamps;
  std::vector<std::int64_t> leases;
  for (const auto& [stamp, lease] : wanted) {
    stamps.push_back(stamp.value);
    leases.push_back(lease);
  }
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Use::renewal, renew_, by, failure, collisions, owner.app,
                   array_of_numbers(stamps), array_of_numbers(leases));
  if (!rows) return rows.error();
  RenewReply reply;
  std::map<std::int64_t, Renewal> renewed;
  for (const pqxx::row& row : *rows) {
    if (row[0].is_null()) {
      reply.store_time_us = row[2].as<std::int64_t>();
    } else {
      renewed[row[0].as<std::int64_t>()] = Renewal{duration_from(row[1].as<std::int64_t>())};
    }
  }
  for (const RenewRequest& request : requests) {
    const auto found = renewed.find(request.stamp.value);
    reply.renewals.push_back(found == renewed.end() ? std::nullopt
                                                    : std::optional<Renewal>(found->second));
  }
  return reply;
}

Result<bool> PostgresqlBackend::release(Stamp stamp, std::string_view app, TimePoint by) {
  return end_hold(release_, by, stamp.value, std::string(app));
}

// One statement, one commit: all of them or none.
Result<std::vector<bool>> PostgresqlBackend::release_all(std::span<const Stamp> stamps,
                                                         std::string_view app, TimePoint by) {
  // Each stamp once and in order, so that no two calls wait for one another.
  std::set<std::int64_t> wanted;
  for (const Stamp stamp : stamps) wanted.insert(stamp.value);
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows = store_->call(
      Use::plain, release_all_, by, failure, collisions,
      array_of_numbers(std::vector<std::int64_t>(wanted.begin(), wanted.end())), std::string(app));
  if (!rows) return rows.error();
  std::set<std::int64_t> ended_here;
  for (const pqxx::row& row : *rows) {
    if (std::string_view(row[1].c_str()) == "R") ended_here.insert(row[0].as<std::int64_t>());
  }
  std::vector<bool> ended;
  for (const Stamp stamp : stamps) ended.push_back(ended_here.erase(stamp.value) == 1);
  return ended;
}

Result<bool> PostgresqlBackend::break_hold(Stamp stamp, TimePoint by) {
  return end_hold(break_, by, stamp.value);
}

template <class... Args>
Result<bool> PostgresqlBackend::end_hold(const Statement& statement, TimePoint by,
                                         const Args&... args) {
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> result =
      store_->call(Use::plain, statement, by, failure, collisions, args...);
  if (!result) return result.error();
  return std::string_view((*result)[0][0].c_str()) == "R";
}

Result<std::size_t> PostgresqlBackend::sweep(TimePoint by) {
  const std::lock_guard lock(sweep_mutex_);
  std::size_t removed = 0;
  // To the end, and from the start if it did not begin there: a call that finds nothing
  // has looked at everything, unless there is more than one call's worth.
  bool from_the_start = sweep_from_ == 0;
  for (;;) {
    Failure failure;
    std::uint32_t collisions = 0;
    const Result<pqxx::result> rows =
        store_->call(Use::plain, sweep_, by, failure, collisions, sweep_from_, sweep_from_name_);
    if (!rows) return rows.error();
    const pqxx::row row = (*rows)[0];
    removed += row[0].as<std::size_t>();
    sweep_from_ = row[1].as<std::int64_t>();
    sweep_from_name_ = row[2].as<std::string>("");
    if (from_the_start || sweep_from_ != 0) return removed;
    from_the_start = true;
  }
}

// --- the space ---

Result<Inspection> PostgresqlBackend::inspect(const InspectQuery& query, TimePoint by) {
  const char* match = "a";
  if (query.match == InspectQuery::Match::name) match = "n";
  if (query.match == InspectQuery::Match::prefix) match = "p";
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Use::plain, inspect_, by, failure, collisions, match, query.text);
  if (!rows) return rows.error();
  return inspection_from(*rows);
}

Result<SpaceConfig> PostgresqlBackend::load_config(TimePoint by) {
  Failure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows = store_->call(Use::plain, load_, by, failure, collisions);
  if (!rows) return rows.error();
  return config_from(*rows, store_->options().shown);
}

Result<SpaceConfig> PostgresqlBackend::change_config(const ConfigChange& change, TimePoint by) {
  Failure failure;
  std::uint32_t collisions = 0;
  const auto apply = [&](const char* what, const std::string& name, const char* mode,
                         std::optional<std::int64_t> value) -> Result<SpaceConfig> {
    const std::string text = value ? std::to_string(*value) : std::string();
    const Result<pqxx::result> rows =
        store_->call(Use::plain, change_, by, failure, collisions, what, name, mode,
                     value ? text.c_str() : static_cast<const char*>(nullptr));
    if (!rows) return rows.error();
    return config_from(*rows, store_->options().shown);
  };
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    return apply("p", permits->name, permits->mode == Mode::read ? "r" : "w", permits->permits);
  }
  if (const auto* lease = std::get_if<SetMaxLease>(&change)) {
    return apply("l", "", "", micros(lease->max_lease));
  }
  if (const auto* phase = std::get_if<SetMigrationPhase>(&change)) {
    if (!phase->only_at_version) return apply("m", "", "", phase->phase);
    const Result<pqxx::result> rows = store_->call(Use::plain, change_at_, by, failure, collisions,
                                                   *phase->only_at_version, phase->phase);
    if (!rows) return rows.error();
    return config_from(*rows, store_->options().shown);
  }
  return apply("b", "", "", std::get<RaiseStampBase>(change).at_least.value);
}

Result<std::size_t> PostgresqlBackend::reclaim(std::string_view app, std::int64_t epoch,
                                               TimePoint by) {
  Failure failure;
  std::uint32_t collisions = 0;
  const std::string name(app);
  const Result<pqxx::result> result =
      store_->call(Use::plain, reclaim_, by, failure, collisions, name, epoch);
  if (!result) return result.error();
  const std::string answer = (*result)[0][0].as<std::string>();
  if (answer.starts_with('H')) {
    return Error{Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                       " has begun the epoch " + answer.substr(1)};
  }
  if (answer == "N") {
    return Error{Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                                     in_quotes(app) + " is not live: its epoch can't begin"};
  }
  return static_cast<std::size_t>(std::stoull(answer));
}

}  // namespace lockset::postgresql
