// What the backend is made of, and the calls about single holds.
#include "backends/postgresql/session_backend.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "backends/answers.h"
#include "backends/postgresql/errors.h"
#include "backends/postgresql/reply.h"
#include "core/time_math.h"
#include "lockset/locks.h"

namespace lockset::postgresql {
namespace {

Error unsupported(std::string why) { return {Errc::unsupported, std::move(why)}; }

std::string in_space(const Store& store, const std::string& call) {
  return "SELECT \"" + store.options().space + "\"." + call;
}

}  // namespace

SessionBackend::SessionBackend(std::unique_ptr<Store> store)
    : common_(std::move(store)),
      store_(common_.store()),
      ask_(store_.statement("session_ask",
                            "@session_ask_v2($1::pg_catalog.int8,$2::pg_catalog.text)",
                            Sent::reading)),
      break_(store_.statement("session_break", "@break_v2($1::pg_catalog.int8)", Sent::reading,
                              Role::operators)),
      answers_(store_.statement("session_answers", "@session_answers_v2($1::pg_catalog.int8)",
                                Sent::change)),
      force_(store_.statement("session_force", "@session_force_v2($1::pg_catalog.int8)",
                              Sent::change, Role::operators)),
      cancel_(store_.statement("session_cancel",
                               "pg_catalog.pg_cancel_backend($1::pg_catalog.int4)", Sent::reading)),
      clock_(store_.statement(
          "session_clock",
          "(pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000000)::int8",
          Sent::reading)),
      // Numbers 0 to 2 are Session's own.
      acquire_{3, "acquire",
               in_space(store_,
                        "session_acquire_v2($1::pg_catalog.int8[],$2::pg_catalog.bool[],"
                        "$3::pg_catalog.int4,$4::pg_catalog.int8,$5::pg_catalog.int8)"),
               5},
      wait_{4, "wait", "SELECT pg_catalog.pg_advisory_lock($1::pg_catalog.int8)", 1},
      wait_shared_{5, "wait_shared",
                   "SELECT pg_catalog.pg_advisory_lock_shared($1::pg_catalog.int8)", 1},
      ping_{6, "ping",
            "SELECT (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1000000)::int8, "
            "pg_catalog.current_setting('transaction_read_only')",
            0},
      register_{7, "register", in_space(store_, "session_register_v2()"), 0},
      publish_{8, "publish",
               in_space(store_,
                        "session_publish_v2($1::pg_catalog.int4,$2::pg_catalog.int8,"
                        "$3::pg_catalog.int8[],$4::pg_catalog.int8[],$5::pg_catalog.int8[],"
                        "$6::pg_catalog.int8[],$7::pg_catalog.int8[],$8::pg_catalog.int8[],"
                        "$9::pg_catalog.int4[],$10::pg_catalog.\"char\"[],$11::pg_catalog.text[],"
                        "$12::pg_catalog.text[],$13::pg_catalog.text[],$14::pg_catalog.text[])"),
               14},
      // For the transaction, so that there is nothing to unlock.
      pass_{9, "pass", "SELECT pg_catalog.pg_advisory_xact_lock_shared($1::pg_catalog.int8)", 1},
      try_line_{10, "try_line", "SELECT pg_catalog.pg_try_advisory_lock($1::pg_catalog.int8)", 1},
      notify_{11, "notify", "SELECT pg_catalog.pg_notify($1::pg_catalog.text,$2::pg_catalog.text)",
              2},
      line_key_{session_line_key(store_.options().space), false},
      slots_(std::make_shared<Slots>([this](TimePoint by) { return open_session(by); },
                                     "PostgreSQL (" + store_.options().shown + ")",
                                     store_.options().pool)) {}

Result<std::unique_ptr<server::Carrier>> SessionBackend::open_session(TimePoint by) {
  Result<std::unique_ptr<Connection>> connection = store_.connect_apart(by);
  if (!connection) return connection.error();
  auto session = std::make_unique<Session>(store_.options(), *std::move(connection));
  const Result<Session::Rows> prepared = session->prepare_unlocks(by);
  if (!prepared) return prepared.error();
  return std::unique_ptr<server::Carrier>(std::move(session));
}

SessionBackend::~SessionBackend() {
  ending_ = true;
  slots_->end_tending();
  if (watcher_.joinable()) watcher_.join();
  slots_->close();
}

Status SessionBackend::begin(TimePoint by) {
  if (Status there = connect_main(by); !there) return there;
  const Result<std::optional<Slot*>> first = slots_->take_for({}, default_lease, by);
  if (!first) return first.error();
  slots_->give_back(first->value_or(nullptr));
  return {};
}

Traits SessionBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;
  traits.queued_wakeup = true;
  traits.shared_between_processes = true;
  traits.session_leases = true;
  traits.counted_permits = false;
  traits.can_reclaim = false;
  traits.can_migrate = false;
  traits.holds_outlive_connections = false;
  return traits;
}

void SessionBackend::watch_losses(std::function<void(Stamp)> lost) {
  slots_->tell_losses(std::move(lost));
}

// A session that is over can't keep a hold. So what is not known here is not held, or will not be.
Result<std::optional<Grant>> SessionBackend::resolve(const HoldRef& attempt, TimePoint /*by*/) {
  const std::optional<SessionHold> hold = slots_->find(attempt.token);
  const TimePoint now = BootClock::now();
  if (!hold || hold->ends <= now) return std::optional<Grant>();
  Grant grant;
  grant.stamp = hold->stamp;
  grant.lease = hold->ends - now;
  grant.store_time_us = hold->store_time_us;
  return std::optional<Grant>(std::move(grant));
}

Result<RenewReply> SessionBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                         TimePoint by) {
  RenewReply reply;
  reply.renewals.resize(requests.size());
  reply.unanswered.resize(requests.size());
  // By session: one call for all of its holds.
  std::map<Slot*, std::vector<std::size_t>> sessions;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].permanent) return unsupported("strategy=session keeps no hold without a lease");
    const std::optional<SessionHold> hold = slots_->find(requests[i].hold.stamp);
    if (hold && hold->owner.app == owner.app && hold->ends > BootClock::now()) {
      sessions[hold->slot].push_back(i);
    }
  }
  std::optional<Error> failure;
  bool any = sessions.empty();
  for (const auto& [session, holds] : sessions) {
    Duration longest{};
    for (const std::size_t i : holds) longest = std::max(longest, requests[i].lease);
    const Result<Slot*> taken = slots_->take_of(requests[holds.front()].hold.stamp, by);
    Slot* const slot = taken ? *taken : nullptr;
    if (!taken) failure = taken.error();
    bool alive = false;
    bool over = taken.ok() && slot == nullptr;
    const TimePoint sent = BootClock::now();
    if (slot != nullptr) {
      // What was answered late was sent early: it says nothing about the time since.
      if (slots_->keep_for(*slot, longest, by)) {
        const Result<Session::Rows> answer = session_of(*slot).call(ping_, {}, Sent::reading, by);
        // Where a server was demoted, others may grant by now: its holds run out.
        alive = answer.ok() && std::string_view(PQgetvalue(answer->get(), 0, 1)) == "off";
        if (answer) {
          reply.store_time_us = std::strtoll(PQgetvalue(answer->get(), 0, 0), nullptr, 10);
          if (!alive) failure = read_only();
        } else {
          failure = answer.error();
        }
      } else {
        failure = Error{Errc::unavailable,
                        "PostgreSQL (" + store_.options().shown + "): no answer in time"};
      }
      over = slot->session->outcome() == Session::Outcome::broken;
      if (alive) {
        for (const std::size_t i : holds) {
          const std::optional<SessionHold> hold = slots_->find(requests[i].hold.stamp);
          if (!hold || hold->slot != slot || hold->ends <= BootClock::now()) continue;
          slots_->extend(hold->stamp, later(BootClock::now(), requests[i].lease));
          reply.renewals[i] = Renewal{std::max(hold->ends - sent, requests[i].lease)};
        }
      }
      slots_->give_back(slot);
    }
    any = any || alive || over;
    for (const std::size_t i : holds) reply.unanswered[i] = !alive && !over;
  }
  if (!any) {
    return failure ? *failure : Error{Errc::unavailable, "the sessions do not answer"};
  }
  if (reply.store_time_us == 0) {
    const Result<pqxx::result> now = common_call(clock_, by);
    if (!now) return now.error();
    reply.store_time_us = (*now)[0][0].as<std::int64_t>();
  }
  return reply;
}

Error SessionBackend::read_only() const {
  Error error = error_from(sqlstate_read_only, "transaction_read_only is on",
                           store_.options().shown, Sent::nothing);
  error.code = Errc::unavailable;
  return error;
}

Result<bool> SessionBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  const std::optional<bool> mine = slots_->belongs_to(hold.stamp, app);
  if (mine) return *mine ? slots_->end(hold.stamp, by) : Result<bool>(false);
  const std::string name(app);
  return end_elsewhere(ask_, hold.stamp, &name, by);
}

Result<std::vector<bool>> SessionBackend::release_all(std::span<const HoldRef> holds,
                                                      std::string_view app, TimePoint by) {
  std::set<Stamp> mine;
  for (const HoldRef& hold : holds) {
    if (slots_->belongs_to(hold.stamp, app).value_or(false)) mine.insert(hold.stamp);
  }
  Result<std::set<Stamp>> ended = slots_->end_all(mine, by);
  if (!ended) return ended.error();
  std::vector<bool> result;
  for (const HoldRef& hold : holds) {
    if (mine.contains(hold.stamp) || slots_->find(hold.stamp)) {
      result.push_back(ended->erase(hold.stamp) == 1);
      continue;
    }
    const Result<bool> elsewhere = release(hold, app, by);
    if (!elsewhere) return elsewhere.error();
    result.push_back(*elsewhere);
  }
  return result;
}

Result<SpaceConfig> SessionBackend::change_config(const ConfigChange& change, TimePoint by) {
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    const std::uint32_t most = permits->mode == Mode::read ? max_permits : 1;
    if (permits->permits && *permits->permits != 1 && *permits->permits != most) {
      return unsupported(
          "strategy=session counts no holds: a name admits 1 write, and 1 read or any number of "
          "reads (" +
          std::to_string(max_permits) + " permits)");
    }
  }
  if (std::holds_alternative<SetMaxOvertakes>(change)) return unbounded_overtaking();
  if (std::holds_alternative<SetMigrationPhase>(change)) {
    return unsupported(
        "a space with strategy=session can't be migrated: its holds are its own "
        "sessions'");
  }
  return common_.change_config(change, by);
}

Result<std::size_t> SessionBackend::reclaim(std::string_view /*app*/, std::int64_t /*epoch*/,
                                            TimePoint /*by*/) {
  return unsupported("strategy=session has no reclaim: a hold ends with its client");
}

}  // namespace lockset::postgresql
