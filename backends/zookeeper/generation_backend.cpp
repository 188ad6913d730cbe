#include "backends/zookeeper/generation_backend.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "backends/answers.h"
#include "backends/zookeeper/acquire.h"
#include "backends/zookeeper/reclaim.h"

namespace lockset::zookeeper {

GenerationBackend::GenerationBackend(std::unique_ptr<OpenSpace> space)
    : space_(std::move(space)),
      holds_(*space_),
      waiting_(*space_),
      reaper_(*space_),
      housekeeping_(*space_),
      renewals_(*space_),
      traces_(*space_) {}

GenerationBackend::~GenerationBackend() = default;

Traits GenerationBackend::traits() const {
  Traits traits;
  traits.push_wakeup = true;
  traits.queued_wakeup = true;
  traits.bounded_overtaking = true;
  traits.lists_waiters = true;
  traits.shared_between_processes = true;
  traits.session_leases = true;
  traits.observing = true;
  traits.converting = true;
  return traits;
}

Result<AcquireOutcome> GenerationBackend::try_acquire(const AcquireRequest& request) {
  if (const auto twin = space_->own.find(request.token.hex())) {
    // The same request again: this looks for its hold.
    Result<std::optional<Grant>> grant = resolve(request.token, request.by);
    if (!grant) return grant.error();
    if (*grant) return AcquireOutcome(*std::move(*grant));
    if (twin->state == OwnHold::State::asked) {
      return Error{Errc::unavailable,
                   space_->where + ": another request with this token is under way"};
    }
    // Past its deadline: the rest of it must not be taken for the new hold.
    if (Status removed = reaper_.remove(twin->hold, request.by); !removed) return removed.error();
  }
  return Acquire(*space_, holds_, reaper_, waiting_, request).run();
}

Result<std::optional<Grant>> GenerationBackend::resolve(const HoldRef& attempt, TimePoint by) {
  const std::string hex = attempt.token.hex();
  const std::string path = space_->paths.hold(hex);
  while (true) {
    const Result<std::shared_ptr<Session>> session = space_->sessions.general(by);
    if (!session) return session.error();
    const std::optional<OwnHolds::Known> before = space_->own.find(hex);
    const Result<Replies> replies = (*session)->run({sync(path), get(path)}, by);
    if (!replies) return replies.error();
    const Reply& reply = (*replies)[1];
    if (ends_session(reply.code)) continue;
    if (reply.code == ZNONODE) {
      // A hold that was still requested may come later, or has come since this was read. It must
      // not be forgotten then, or nobody ends it.
      if (before && before->state == OwnHold::State::live) space_->own.forget(hex);
      return std::optional<Grant>();
    }
    const std::optional<OwnHolds::Known> own = space_->own.find(hex);
    if (!reply.ok()) return error_from(reply.code, space_->where, Sent::reading);
    const std::optional<Record> record = record_from(reply.text);
    if (!record) return std::optional<Grant>();
    Grant grant;
    grant.stamp = Stamp{record->base + reply.stat.created};
    grant.store_time_us = space_->config.server_now_us();
    if (!own) {
      // Another client's hold: it is there, but this client can't count on its lease.
      grant.lease = Duration::zero();
      return std::optional<Grant>(std::move(grant));
    }
    // The session was ours and has ended, or is about to end.
    if (!own->live() || reply.stat.owner != own->hold->session()->id()) {
      return std::optional<Grant>();
    }
    // No answer has come so far, and the request may have been done in any later connection.
    const ConnectionNumber latest =
        own->seen_in != 0 ? own->seen_in : own->hold->session()->connection();
    if (own->state == OwnHold::State::asked && !space_->own.done_in(hex, latest)) {
      return std::optional<Grant>();
    }
    space_->own.granted(hex, grant.stamp);
    grant.lease =
        std::min(own->deadline - BootClock::now(), safe_part(own->hold->session()->timeout()));
    if (grant.lease <= Duration::zero()) return std::optional<Grant>();
    return std::optional<Grant>(std::move(grant));
  }
}

Result<RenewReply> GenerationBackend::renew(const Owner& owner,
                                            std::span<const RenewRequest> requests, TimePoint by) {
  RenewReply reply;
  reply.renewals.resize(requests.size());
  std::map<std::shared_ptr<Session>, std::map<std::string, std::vector<std::size_t>>> by_session;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].permanent) {
      return Error{Errc::unsupported,
                   space_->where + ": a hold ends with its session, and can't be made permanent"};
    }
    const std::optional<OwnHolds::Known> own = space_->own.find(requests[i].hold.stamp);
    if (own && own->live() && own->hold->app == owner.app) {
      by_session[own->hold->session()][own->hold->token].push_back(i);
    }
  }
  for (const auto& [session, places] : by_session) {
    std::vector<std::string> tokens;
    tokens.reserve(places.size());
    for (const auto& [token, at] : places) tokens.push_back(token);
    const Result<Renewals::Leases> renewed = renewals_.renew(session, tokens, by);
    if (!renewed) return renewed.error();
    for (const auto& [token, lease] : *renewed) {
      for (const std::size_t place : places.at(token)) reply.renewals[place] = Renewal{lease};
    }
  }
  reply.store_time_us = space_->config.server_now_us();
  return reply;
}

Result<bool> GenerationBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return end_hold(hold.stamp, app, by);
}

// Releases the holds that this client took together, each in its own session. The others, and those
// without an answer that counts, follow one by one.
Result<std::vector<bool>> GenerationBackend::release_all(std::span<const HoldRef> holds,
                                                         std::string_view app, TimePoint by) {
  std::vector<std::optional<bool>> ended(holds.size());
  struct Part {
    std::vector<std::size_t> places;
    std::vector<std::shared_ptr<OwnHold>> holds;
    std::vector<Request> requests;
  };
  std::map<std::shared_ptr<Session>, Part> parts;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    const std::optional<OwnHolds::Known> own = space_->own.find(holds[i].stamp);
    if (!own || !own->live() || own->hold->app != app) continue;
    const std::shared_ptr<Session> session = own->hold->session();
    if (session->stuck() || !session->connected()) continue;
    Part& part = parts[session];
    part.places.push_back(i);
    part.holds.push_back(own->hold);
    part.requests.push_back(space_->end_of(own->hold->token, own->hold->items));
  }
  for (auto& [session, part] : parts) {
    const Result<Replies> replies = session->run(std::move(part.requests), by);
    if (!replies) continue;  // nothing was sent
    for (std::size_t i = 0; i < replies->size(); ++i) {
      const int code = (*replies)[i].code;
      if (code != ZOK && code != ZNONODE) continue;
      const OwnHold& hold = *part.holds[i];
      for (const LockRequest& item : hold.items) space_->names.ended(item.name, hold.token);
      space_->own.forget(hold.token);
      ended[part.places[i]] = code == ZOK;
    }
  }
  std::vector<bool> result;
  for (std::size_t i = 0; i < holds.size(); ++i) {
    if (!ended[i]) {
      const Result<bool> one = end_hold(holds[i].stamp, app, by);
      if (!one) return one.error();
      ended[i] = *one;
    }
    result.push_back(*ended[i]);
  }
  return result;
}

Result<bool> GenerationBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end_hold(hold.stamp, {}, by);
}

Result<bool> GenerationBackend::end_hold(Stamp stamp, std::optional<std::string_view> app,
                                         TimePoint by) {
  const std::optional<OwnHolds::Known> own = space_->own.find(stamp);
  if (!own) return end_foreign(stamp, app, by);
  if (app && own->hold->app != *app) return false;
  return end_own(*own, !app, by);
}

Result<bool> GenerationBackend::end_own(const OwnHolds::Known& own, bool breaks, TimePoint by) {
  const OwnHold& hold = *own.hold;
  if (!own.live()) {
    if (Status removed = reaper_.remove(own.hold, by); !removed) return removed.error();
    return false;
  }
  // Uses the hold's own session, unless that does not answer.
  std::shared_ptr<Session> session = hold.session();
  if (session->stuck() || !session->connected()) {
    Result<std::shared_ptr<Session>> other = space_->sessions.general(by);
    if (!other) return other.error();
    session = *std::move(other);
  }
  Request end =
      breaks ? space_->breaking(hold.token, hold.items) : space_->end_of(hold.token, hold.items);
  Result<bool> ended = send_end(hold.token, hold.items, std::move(end), breaks, session, by);
  if (ended) space_->own.forget(hold.token);
  return ended;
}

Result<bool> GenerationBackend::end_foreign(Stamp stamp, std::optional<std::string_view> app,
                                            TimePoint by) {
  const Result<std::vector<Listed>> holds = holds_.holds(by);
  if (!holds) return holds.error();
  for (const Listed& hold : *holds) {
    if (hold.stamp() != stamp) continue;
    if (app && hold.record.owner.app != *app) return false;
    const Result<std::shared_ptr<Session>> session = space_->sessions.general(by);
    if (!session) return session.error();
    const std::vector<LockRequest>& items = hold.record.items;
    Request end = app ? space_->end_of_other(hold.name, items) : space_->breaking(hold.name, items);
    return send_end(hold.name, items, std::move(end), !app, *session, by);
  }
  return false;
}

Result<bool> GenerationBackend::send_end(const std::string& token,
                                         const std::vector<LockRequest>& items, Request end,
                                         bool breaks, const std::shared_ptr<Session>& session,
                                         TimePoint by) {
  std::vector<Request> requests;
  requests.push_back(std::move(end));
  const Result<Replies> replies = session->run(std::move(requests), by);
  if (!replies) return replies.error();
  const int code = replies->front().code;
  if (code == ZNOAUTH && breaks) return not_an_operator(space_->options.user, space_->where);
  if (code != ZOK && code != ZNONODE) return error_from(code, space_->where, Sent::change);
  for (const LockRequest& item : items) space_->names.ended(item.name, token);
  return code == ZOK;
}

Status GenerationBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  return waiting_.await(static_cast<Ticket&>(ticket), until, stop);
}

bool GenerationBackend::has_changed(WaitTicket& ticket, TimePoint /*since*/) {
  return waiting_.has_changed(static_cast<const Ticket&>(ticket));
}

void GenerationBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  waiting_.leave(static_cast<Ticket&>(ticket), by);
}

Result<Inspection> GenerationBackend::inspect(const InspectQuery& query, TimePoint by) {
  Result<std::vector<Listed>> holds = holds_.holds(by);
  if (!holds) return holds.error();
  Inspection inspection;
  for (Listed& listed : *holds) {
    if (!query.matches(listed.record.items)) continue;
    const Stamp stamp = listed.stamp();
    const std::optional<OwnHolds::Known> own = space_->own.find(listed.name);
    if (own && !own->live()) continue;
    HoldInfo& hold = inspection.holds.emplace_back();
    hold.stamp = stamp;
    hold.items = std::move(listed.record.items);
    hold.owner = std::move(listed.record.owner);
    hold.since =
        std::chrono::system_clock::time_point(std::chrono::milliseconds(listed.stat.created_ms));
    // For other clients' holds the renewals can't be seen: this is at most the lease.
    hold.remaining = own ? own->deadline - BootClock::now() : listed.record.lease;
  }
  Result<std::vector<Listed>> waiters = holds_.waiters(by);
  if (!waiters) return waiters.error();
  for (Listed& listed : *waiters) {
    if (!query.matches(listed.record.items)) continue;
    WaiterInfo& waiter = inspection.waiters.emplace_back();
    waiter.items = std::move(listed.record.items);
    waiter.owner = std::move(listed.record.owner);
    waiter.since =
        std::chrono::system_clock::time_point(std::chrono::milliseconds(listed.stat.created_ms));
  }
  return inspection;
}

Result<SpaceConfig> GenerationBackend::load_config(TimePoint by) {
  const Result<std::shared_ptr<const KnownConfig>> config = space_->config.load(by);
  if (!config) return config.error();
  return (*config)->stored.config;
}

Result<SpaceConfig> GenerationBackend::change_config(const ConfigChange& change, TimePoint by) {
  const Result<std::shared_ptr<const KnownConfig>> done = space_->config.change(
      [&](StoredConfig& stored, std::int64_t zxid) {
        const std::int64_t before = stored.config.version;
        stored.config = changed(std::move(stored.config), change);
        if (stored.config.version == before) return false;  // refused: the node stays as it is
        stored.config.version = space_->config.version_after(before);
        // All later grants have a greater zxid than this change.
        stored.base = std::max(stored.base, stored.config.stamp_base.value - zxid);
        return true;
      },
      by);
  if (!done) return done.error();
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    waiting_.permits_grew(permits->name, by);
  } else if (std::holds_alternative<SetMaxOvertakes>(change)) {
    waiting_.permits_grew(default_permits_name, by);
  }
  return (*done)->stored.config;
}

Result<std::size_t> GenerationBackend::reclaim(std::string_view app, std::int64_t epoch,
                                               TimePoint by) {
  return reclaim_holds(*space_, holds_, app, epoch, by);
}

Result<std::size_t> GenerationBackend::sweep(TimePoint by) {
  // Shows whether the servers can be reached at all.
  if (const auto config = space_->config.load(by); !config) return config.error();
  reaper_.run(by);
  waiting_.tidy(by);
  space_->sessions.tidy();
  if (Status done = housekeeping_.run(by); !done) return done.error();
  return reaper_.take_count();
}

}  // namespace lockset::zookeeper
