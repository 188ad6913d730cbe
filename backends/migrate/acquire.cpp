// Takes a hold: in one store, or in the old one and then in the new one.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/migrate/backend.h"
#include "core/time_math.h"

namespace lockset::migrate {
namespace {

// Waits in the store that was busy.
struct Ticket final : WaitTicket {
  Ticket(bool waits_in_old, std::shared_ptr<WaitTicket> ticket_there)
      : in_old(waits_in_old), there(std::move(ticket_there)) {}
  const bool in_old;
  const std::shared_ptr<WaitTicket> there;
  // The store no longer knows the ticket: its wait was ended, or ended when a part was granted.
  bool over = false;
};

// The ticket that the request waits with; null if it waits with none.
std::shared_ptr<Ticket> open_ticket(const AcquireRequest& request) {
  auto ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  return ticket && !ticket->over ? ticket : nullptr;
}

// How long an attempt may take to end its wait in a store that it leaves, and which may not answer
// any more.
TimePoint for_goodbye(TimePoint by) {
  const TimePoint now = BootClock::now();
  return by <= now ? by : now + (by - now) / 4;
}

// The application whose id the set is a hold on; empty if there is none.
std::string application(const LockSet& set) {
  constexpr std::string_view prefix = "@app:";
  const std::string& first = set.items().front().name;
  return first.starts_with(prefix) ? first.substr(prefix.size()) : std::string();
}

HoldTag tag_in(const View& view, Stamp in_old) {
  // Holds of closed and finished are like those of new-only.
  const MigrationPhase phase = std::min(view.stage.phase, MigrationPhase::new_only);
  return {.phase = phase, .in_old = in_old, .migration = view.stage.migration};
}

// A request as one store has to see it. It owns what its pointers point to.
struct Inner {
  Inner(const AcquireRequest& asked, Owner as, const SpaceConfig& config)
      : owner(std::move(as)), request(asked) {
    for (const LockRequest& item : asked.set->items()) {
      permits.push_back(config.permits_of(item.name).of(item.mode));
    }
    request.permits = permits;
    request.owner = &owner;
    request.config_version = config.version;
    request.ticket = nullptr;
  }
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;

  Owner owner;
  std::vector<std::uint32_t> permits;
  AcquireRequest request;
};

}  // namespace

Result<AcquireOutcome> MigrateBackend::try_acquire(const AcquireRequest& request) {
  const Result<Now> found = view_to_ask_by(request.by);
  if (!found) return found.error();
  const Now& view = *found;
  if (request.config_version != view->together.version) {
    return AcquireOutcome(Stale{});
  }
  const MigrationPhase phase = view->stage.phase;
  if (in_both(phase)) return take_in_both(request, *view);
  return take_in_one(request, *view, in_old(phase) ? Which::old_store : Which::new_store);
}

Result<AcquireOutcome> MigrateBackend::take_in_one(const AcquireRequest& request, const View& view,
                                                   Which which) {
  const Result<Backend*> store = side(which).get(request.by);
  if (!store) return store.error();
  const bool old_store = which == Which::old_store;
  // Holds of closed and finished are like those of new_only.
  const MigrationPhase phase = std::min(view.stage.phase, MigrationPhase::new_only);
  Inner inner(request, owner_in(which, *request.owner, tag_in(view, {})),
              old_store ? *view.old_config : *view.new_config);
  const auto ticket = open_ticket(request);
  const std::vector<Expected> condition = given_back_.condition(request);
  if (old_store) inner.request.unchanged_since = condition;
  if (ticket && ticket->in_old == old_store) {
    inner.request.ticket = ticket->there;
  } else if (ticket) {
    end_wait(*ticket, for_goodbye(request.by));
  }
  Result<AcquireOutcome> outcome = (*store)->try_acquire(inner.request);
  if (!outcome) {
    if (outcome.error().may_have_applied()) doubt(request, view, {});
    return outcome;
  }
  if (std::holds_alternative<Stale>(*outcome)) return outcome;
  if (std::holds_alternative<Changed>(*outcome)) {
    if (ticket) ticket->over = true;
    return outcome;
  }
  if (Busy* busy = std::get_if<Busy>(&*outcome)) {
    if (busy->ticket) busy->ticket = std::make_shared<Ticket>(old_store, busy->ticket);
    return outcome;
  }
  Grant& grant = std::get<Grant>(*outcome);
  grant.store_time_us =
      old_store ? store_time_.of_old(grant.store_time_us) : store_time_.of_new(grant.store_time_us);
  Parts parts{.phase = phase, .until = later(BootClock::now(), grant.lease)};
  (old_store ? parts.in_old : parts.in_new) = grant.stamp;
  if (phase == MigrationPhase::shadow) shadow_.granted(request, grant.stamp, view.stage.migration);
  parts_.note(parts, application(*request.set));
  return outcome;
}

Result<AcquireOutcome> MigrateBackend::take_in_both(const AcquireRequest& request,
                                                    const View& view) {
  const Result<Backend*> old_store = old_.get(request.by);
  if (!old_store) {
    old_is_silent_ = true;
    return old_store.error();
  }
  const Result<Backend*> new_store = new_.get(request.by);
  if (!new_store) return new_store.error();
  const MigrationPhase phase = view.stage.phase;
  const auto ticket = open_ticket(request);

  Inner first(request, owner_in(Which::old_store, *request.owner, tag_in(view, {})),
              *view.old_config);
  if (ticket && ticket->in_old) first.request.ticket = ticket->there;
  // The store that gives the stamp decides on the condition.
  const std::vector<Expected> condition = given_back_.condition(request);
  first.request.unchanged_since = {};
  if (phase == MigrationPhase::dual_old) first.request.unchanged_since = condition;
  const TimePoint sent = BootClock::now();
  Result<AcquireOutcome> old_outcome = (*old_store)->try_acquire(first.request);
  const TimePoint old_at = BootClock::now();
  if (!old_outcome) {
    if (old_outcome.error().may_have_applied()) doubt(request, view, {});
    old_is_silent_ = true;
    return old_outcome;
  }
  if (std::holds_alternative<Stale>(*old_outcome)) return old_outcome;
  if (std::holds_alternative<Changed>(*old_outcome)) {
    if (ticket && ticket->in_old) ticket->over = true;
    if (ticket) end_wait(*ticket, for_goodbye(request.by));
    return old_outcome;
  }
  if (Busy* busy = std::get_if<Busy>(&*old_outcome)) {
    // The new store is not asked, and waiting would be pointless if it refused.
    if (phase == MigrationPhase::dual_new) {
      if (std::optional<Changed> changed = changed_in_new(request, view)) {
        if (busy->ticket) (*old_store)->end_wait(*busy->ticket, for_goodbye(request.by));
        if (ticket && ticket->in_old) ticket->over = true;
        if (ticket) end_wait(*ticket, for_goodbye(request.by));
        return AcquireOutcome(*std::move(changed));
      }
    }
    name_holder(*busy, Which::old_store, view, request.by);
    // The client waits in the old store now, and must not use up a wake-up of the new one.
    if (ticket && !ticket->in_old) end_wait(*ticket, for_goodbye(request.by));
    if (busy->ticket) busy->ticket = std::make_shared<Ticket>(true, busy->ticket);
    return old_outcome;
  }
  const Grant& of_old = std::get<Grant>(*old_outcome);
  // After some answers of the new store the core comes with the same ticket again.
  if (ticket && ticket->in_old) ticket->over = true;

  Inner second(request, owner_in(Which::new_store, *request.owner, tag_in(view, of_old.stamp)),
               *view.new_config);
  if (ticket && !ticket->in_old) second.request.ticket = ticket->there;
  if (phase == MigrationPhase::dual_old) second.request.unchanged_since = {};
  second.request.min_stamp = std::max(request.min_stamp, of_old.stamp);
  Result<AcquireOutcome> outcome = (*new_store)->try_acquire(second.request);
  const Grant* const of_new = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
  if (ticket && outcome && std::holds_alternative<Changed>(*outcome)) ticket->over = true;
  if (of_new == nullptr) {
    return give_back(request, **old_store, of_old.stamp, view, std::move(outcome));
  }
  store_time_.learn(sent, of_old.store_time_us, old_at, of_new->store_time_us, BootClock::now());
  Grant grant = join(phase, of_old, *of_new, view.old_config->stamp_base);
  parts_.note({.phase = phase,
               .in_old = of_old.stamp,
               .in_new = of_new->stamp,
               .until = later(BootClock::now(), grant.lease)},
              application(*request.set));
  grant.store_time_us = store_time_.of_old(of_old.store_time_us);
  return AcquireOutcome(std::move(grant));
}

// The new store did not grant the set. The part in the old store must not stay there. If its end is
// not certain, the attempt is in doubt: the call that asks for its outcome finds the part and gives
// it back.
Result<AcquireOutcome> MigrateBackend::give_back(const AcquireRequest& request, Backend& old_store,
                                                 Stamp in_old, const View& view,
                                                 Result<AcquireOutcome> outcome) {
  const bool maybe_granted = !outcome && outcome.error().may_have_applied();
  if (maybe_granted) {
    doubt(request, view, in_old);
    return outcome;
  }
  if (view.stage.phase == MigrationPhase::dual_old) given_back_.note(request, in_old);
  HoldRef part(in_old);
  part.token = request.token;
  part.set = request.set;
  part.owner = request.owner;
  const Result<bool> given_back = old_store.release(part, request.owner->app, request.by);
  if (!given_back) {
    doubt(request, view, in_old, true);
    const std::string what = outcome ? "the new store did not grant it" : outcome.error().message;
    return Error{Errc::indeterminate,
                 what + "; and the old store did not confirm that it was given back there: " +
                     given_back.error().message};
  }
  if (!outcome) return outcome;
  if (std::holds_alternative<Stale>(*outcome) || std::holds_alternative<Changed>(*outcome)) {
    return outcome;
  }
  Busy& busy = std::get<Busy>(*outcome);
  name_holder(busy, Which::new_store, view, request.by);
  if (busy.ticket) busy.ticket = std::make_shared<Ticket>(false, busy.ticket);
  return outcome;
}

// Each hold that counts now stands in the new store, with its stamp in the old one. A hold that is
// not found there is just being taken or given back, and the answer names no holder.
void MigrateBackend::name_holder(Busy& busy, Which found_in, const View& view, TimePoint by) {
  const MigrationPhase phase = view.stage.phase;
  const bool known_as_found = found_in == Which::old_store && phase == MigrationPhase::dual_old;
  if (known_as_found || !busy.holder) return;
  const Stamp found = std::exchange(busy.holder, Stamp{});
  const Result<Inspection> there =
      new_.opened()->inspect({InspectQuery::Match::name, busy.name}, by);
  if (!there) return;
  for (const HoldInfo& hold : there->holds) {
    const HoldTag tag = tag_of(hold.owner.instance, view.stage.migration)
                            .value_or(HoldTag{.phase = MigrationPhase::new_only});
    const Parts parts{.phase = tag.phase, .in_old = tag.in_old, .in_new = hold.stamp};
    if ((found_in == Which::old_store ? parts.in_old : parts.in_new) == found) {
      busy.holder = parts.stamp();
    }
  }
}

Grant MigrateBackend::join(MigrationPhase phase, const Grant& of_old, const Grant& of_new,
                           Stamp old_base) const {
  Grant grant;
  grant.stamp = phase == MigrationPhase::dual_new ? of_new.stamp : of_old.stamp;
  grant.lease = std::min(of_old.lease, of_new.lease);
  grant.store_time_us = of_old.store_time_us;
  grant.collisions = of_old.collisions + of_new.collisions;
  if (!traits_.floors) return grant;
  grant.floors = of_old.floors;
  if (phase != MigrationPhase::dual_new) return grant;
  // There may also be a hold with a stamp of the old store; it is below all stamps of the new one.
  for (std::size_t i = 0; i < grant.floors.size() && i < of_new.floors.size(); ++i) {
    const bool old_stamp_beside = of_old.floors[i] <= old_base;
    if (!old_stamp_beside) grant.floors[i] = of_new.floors[i];
  }
  return grant;
}

Status MigrateBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto& mine = static_cast<Ticket&>(ticket);
  Backend* const store = (mine.in_old ? old_ : new_).opened();
  return store->await_change(*mine.there, until, std::move(stop));
}

bool MigrateBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  auto& mine = static_cast<Ticket&>(ticket);
  return (mine.in_old ? old_ : new_).opened()->has_changed(*mine.there, since);
}

void MigrateBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  auto& mine = static_cast<Ticket&>(ticket);
  // Only once: a store that does not answer must not cost each attempt its time.
  if (std::exchange(mine.over, true)) return;
  (mine.in_old ? old_ : new_).opened()->end_wait(*mine.there, by);
}

// --- attempts of unknown outcome ---

namespace {

// How long after its lease the outcome of an attempt may still be asked for.
constexpr Duration doubts_last = std::chrono::minutes(2);

}  // namespace

void MigrateBackend::doubt(const AcquireRequest& request, const View& view, Stamp in_old,
                           bool given_up) {
  // Holds of closed and finished are like those of new_only.
  const MigrationPhase phase = std::min(view.stage.phase, MigrationPhase::new_only);
  const Stamp old_base = view.old_config ? view.old_config->stamp_base : Stamp{};
  const std::lock_guard lock(mutex_);
  const TimePoint at = BootClock::now();
  std::erase_if(doubts_, [&](const auto& entry) { return entry.second.until < at; });
  const TimePoint until = later(later(at, request.lease), doubts_last);
  doubts_.insert_or_assign(request.token, Doubt{phase, old_base, in_old, given_up, until});
}

void MigrateBackend::give_up(const Token& token, MigrationPhase phase) {
  const std::lock_guard lock(mutex_);
  const auto [at, fresh] = doubts_.try_emplace(token);
  if (fresh) {
    at->second.phase = phase;
    at->second.until = later(BootClock::now(), doubts_last);
  }
  at->second.given_up = true;
}

std::optional<MigrateBackend::Doubt> MigrateBackend::doubt_of(const Token& token) const {
  const std::lock_guard lock(mutex_);
  const auto at = doubts_.find(token);
  return at == doubts_.end() ? std::nullopt : std::optional(at->second);
}

void MigrateBackend::settle(const Token& token) {
  const std::lock_guard lock(mutex_);
  doubts_.erase(token);
}

Status MigrateBackend::take_back(Backend& store, const HoldRef& part, TimePoint by) {
  std::string app = part.owner != nullptr ? part.owner->app : std::string();
  if (app.empty()) {
    const Result<Inspection> all = store.inspect({}, by);
    if (!all) return all.error();
    for (const HoldInfo& hold : all->holds) {
      if (hold.stamp == part.stamp) app = hold.owner.app;
    }
    if (app.empty()) return {};  // it has ended
  }
  const Result<bool> released = store.release(part, app, by);
  if (!released) return released.error();
  return {};
}

Result<std::optional<Grant>> MigrateBackend::resolve(const HoldRef& attempt, TimePoint by) {
  const std::optional<Doubt> doubted = doubt_of(attempt.token);
  Now view = now();
  if (!view) {
    Result<Now> read = refresh(by);
    if (!read) return std::move(read).error();
    view = *std::move(read);
  }
  const MigrationPhase phase =
      doubted ? doubted->phase : std::min(view->stage.phase, MigrationPhase::new_only);

  std::optional<Grant> found[2];
  TimePoint at[2];
  const TimePoint sent = BootClock::now();
  for (const Which which : {Which::old_store, Which::new_store}) {
    if (!(which == Which::old_store ? in_old(phase) : in_new(phase))) continue;
    const Result<Backend*> store = side(which).get(by);
    if (!store) return store.error();
    Result<std::optional<Grant>> there = (*store)->resolve(attempt, by);
    if (!there) return there;
    const auto index = static_cast<std::size_t>(which);
    at[index] = BootClock::now();
    found[index] = *std::move(there);
  }
  const std::optional<Grant>& of_old = found[0];
  const std::optional<Grant>& of_new = found[1];
  if (!of_old && !of_new) return std::optional<Grant>();
  Parts parts{.phase = phase,
              .in_old = of_old ? of_old->stamp : Stamp{},
              .in_new = of_new ? of_new->stamp : Stamp{}};
  std::optional<Grant> grant;
  if (in_both(phase)) {
    // A request that arrives late or twice may make a part after the other part was given back, or
    // just before. Two such parts are not a hold.
    const bool whole = of_old && of_new && !(doubted && doubted->given_up) &&
                       (!doubted || doubted->in_old == of_old->stamp);
    if (!whole) {
      give_up(attempt.token, phase);
      for (const Which which : {Which::new_store, Which::old_store}) {
        const std::optional<Grant>& part = found[static_cast<std::size_t>(which)];
        if (!part) continue;
        HoldRef half = attempt;
        half.stamp = part->stamp;
        Status ended = take_back(*side(which).opened(), half, by);
        if (!ended) return std::move(ended).error();
      }
      return std::optional<Grant>();
    }
    store_time_.learn(sent, of_old->store_time_us, at[0], of_new->store_time_us, at[1]);
    // The old store may not count any more, and its configuration may be unknown.
    const Stamp base = doubted ? doubted->old_base : view->old_config->stamp_base;
    grant = join(phase, *of_old, *of_new, base);
    grant->store_time_us = store_time_.of_old(of_old->store_time_us);
  } else {
    grant = of_old ? of_old : of_new;
    grant->store_time_us = of_old ? store_time_.of_old(grant->store_time_us)
                                  : store_time_.of_new(grant->store_time_us);
  }
  parts.until = later(BootClock::now(), grant->lease);
  parts_.note(parts, attempt.set != nullptr ? application(*attempt.set) : std::string());
  settle(attempt.token);
  return grant;
}

}  // namespace lockset::migrate
