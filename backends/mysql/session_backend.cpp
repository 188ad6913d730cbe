// What the backend is made of, and the calls about single holds.
#include "backends/mysql/session_backend.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "backends/answers.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/errors.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/sql.h"
#include "core/time_math.h"
#include "lockset/locks.h"

namespace lockset::mysql {
namespace {

Error unsupported(std::string why) { return {Errc::unsupported, std::move(why)}; }

// One name for a writer, where there are no readers: the usual case. Its arguments: the place that
// has to be free, the lock, that of the token, the lock. See session_waiting.cpp.
constexpr std::string_view acquire_one =
    "SELECT CONCAT(IFNULL(IF({writable},IF(IS_FREE_LOCK(?),IF(GET_LOCK(?,0)=1,"
    "IFNULL(IF(IS_USED_LOCK(?) IS NOT NULL,{counter},NULLIF(LAST_INSERT_ID(0),0)),"
    "IF(RELEASE_LOCK(?),NULL,NULL)),NULLIF(LAST_INSERT_ID(1),1)),"
    "NULLIF(LAST_INSERT_ID(1001),1001)),NULLIF(LAST_INSERT_ID(999),999)),'-'),"
    "' ',LAST_INSERT_ID(),' ',{now})";

}  // namespace

SessionBackend::SessionBackend(std::unique_ptr<Store> store)
    : common_(std::move(store)),
      store_(common_.store()),
      acquire_{1, filled_in(acquire_one, store_.options().space)},
      ping_(filled_in("SELECT {now}, {writable}", store_.options().space)),
      slots_(std::make_shared<Slots>([this](TimePoint by) { return open_session(by); },
                                     store_.options().shown(), store_.options().pool)) {}

SessionBackend::~SessionBackend() {
  ending_ = true;
  slots_->end_tending();
  if (watcher_.joinable()) watcher_.join();
  slots_->close();
}

Status SessionBackend::begin(TimePoint by) {
  const Result<Reply> identity = store_.run(
      "SELECT identity, LOWER(DATABASE()) FROM " + store_.name("_session") + " WHERE id = 1",
      Sent::reading, by);
  if (!identity) return identity.error();
  if (identity->rows.size() != 1) return nonsense(store_);
  // A copy of the tables in another database is another space.
  names_ = LockNames("lockset/" + identity->text(0) + "/" + identity->text(1) + "/" +
                     store_.options().space);
  if (Status there = connect_main(by); !there) return there;
  if (const Result<SettledPtr> done = settle({}, by); !done) return done.error();
  const Result<std::optional<Slot*>> first = slots_->take_for({}, default_lease, by);
  if (!first) return first.error();
  slots_->give_back(first->value_or(nullptr));
  return {};
}

Result<std::unique_ptr<server::Carrier>> SessionBackend::open_session(TimePoint by) {
  const TimePoint end = std::min(by, BootClock::now() + store_.options().connect_timeout);
  Result<std::unique_ptr<Session>> session = Session::connect(store_.options(), end);
  if (!session) return session.error();
  if (Status prepared = (*session)->prepare(acquire_, end); !prepared) return prepared.error();
  return std::unique_ptr<server::Carrier>(*std::move(session));
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
        const Result<Reply> answer = session_of(*slot).run(ping_, Sent::reading, by);
        // Where a server was demoted, others may grant by now: its holds run out.
        alive = answer.ok() && answer->number(1) == 1;
        if (answer) {
          reply.store_time_us = answer->number(0);
          if (!alive) failure = read_only();
        } else {
          failure = answer.error();
        }
      } else {
        failure = Error{Errc::unavailable, store_.options().shown() + ": no answer in time"};
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
    const Result<Reply> now = store_.run(ping_, Sent::reading, by, Lane::renewal);
    if (!now) return now.error();
    reply.store_time_us = now->number(0);
  }
  return reply;
}

Error SessionBackend::read_only() const {
  Error error =
      error_from(not_writable, "read_only is on", store_.options().shown(), Sent::nothing);
  error.code = Errc::unavailable;
  return error;
}

Result<bool> SessionBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  const std::optional<bool> mine = slots_->belongs_to(hold.stamp, app);
  if (mine) return *mine ? slots_->end(hold.stamp, by) : Result<bool>(false);
  if (hold.stamp.value <= 0) return false;
  return end_elsewhere(
      CallText(store_.name("_session_ask")).number(hold.stamp.value).bytes(app).str(), false, by);
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
  Result<SpaceConfig> changed = common_.change_config(change, by);
  if (!changed) return changed;
  if (Status done = await_keeper(by); !done) return done.error();
  return changed;
}

Result<std::size_t> SessionBackend::reclaim(std::string_view /*app*/, std::int64_t /*epoch*/,
                                            TimePoint /*by*/) {
  return unsupported("strategy=session has no reclaim: a hold ends with its client");
}

}  // namespace lockset::mysql
