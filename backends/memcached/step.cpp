#include "backends/memcached/step.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/answers.h"

namespace lockset::memcached {
namespace {

using std::chrono::microseconds;

std::chrono::system_clock::time_point wall_time(std::int64_t us) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(microseconds(us)));
}

bool has(const std::vector<Stamp>& stamps, Stamp stamp) {
  return std::find(stamps.begin(), stamps.end(), stamp) != stamps.end();
}

}  // namespace

// The live holds on one name, by ascending stamp. Readers and writers never hold together, except
// while holds are registered again.
struct Step::OnName {
  std::vector<const HoldRecord*> readers;
  std::vector<const HoldRecord*> writers;

  [[nodiscard]] const std::vector<const HoldRecord*>& of(Mode mode) const {
    return mode == Mode::read ? readers : writers;
  }
  [[nodiscard]] const std::vector<const HoldRecord*>& against(Mode mode) const {
    return of(mode == Mode::read ? Mode::write : Mode::read);
  }
};

Step::Hold Step::find_live(Stamp stamp) {
  return std::find_if(state.holds.begin(), state.holds.end(),
                      [&](const HoldRecord& hold) { return hold.stamp == stamp && live(hold); });
}

// For good: not for a lease that has ended, which only sweep() removes.
void Step::erase(Hold hold) {
  if (in_quarantine()) state.ended.push_back(hold->stamp);
  state.holds.erase(hold);
  changed = true;
}

Step::OnName Step::others(const std::string& name, Stamp except) const {
  OnName on;
  for (const HoldRecord& hold : state.holds) {
    if (hold.stamp == except || !live(hold)) continue;
    const auto item = std::lower_bound(
        hold.items.begin(), hold.items.end(), name,
        [](const LockRequest& one, const std::string& other) { return one.name < other; });
    if (item == hold.items.end() || item->name != name) continue;
    (item->mode == Mode::read ? on.readers : on.writers).push_back(&hold);
  }
  return on;
}

std::optional<Busy> Step::blocker(const AcquireRequest& request) const {
  std::optional<Busy> busy;
  std::int64_t first_end = 0;
  const Stamp replaced = request.replaces != nullptr ? request.replaces->stamp : Stamp();
  for (std::size_t i = 0; i < request.set->size(); ++i) {
    const LockRequest& item = request.set->items()[i];
    const OnName on = others(item.name, replaced);
    const auto& against = on.against(item.mode);
    const auto& same = on.of(item.mode);
    if (against.empty() && same.size() + 1 <= request.permits[i]) continue;
    const HoldRecord& oldest = against.empty() ? *same.front() : *against.front();
    if (!busy) {
      const Mode mode = against.empty() == (item.mode == Mode::read) ? Mode::read : Mode::write;
      busy = Busy{item.name, mode, oldest.stamp, oldest.owner.label, {}, {}};
    }
    const auto look_at = [&](const std::vector<const HoldRecord*>& holds) {
      for (const HoldRecord* const hold : holds) {
        if (first_end == 0 || hold->end_us < first_end) first_end = hold->end_us;
      }
    };
    look_at(against);
    look_at(same);
  }
  if (busy) {
    // What has probably ended is seen to have ended when the server's clock says so.
    const std::int64_t left = first_end - now.upper_us;
    busy->retry_after = left > 0 ? microseconds(left) : Duration(std::chrono::milliseconds(200));
  }
  return busy;
}

void Step::put_in(HoldRecord hold) {
  const auto place = std::upper_bound(
      state.holds.begin(), state.holds.end(), hold,
      [](const HoldRecord& one, const HoldRecord& other) { return one.stamp < other.stamp; });
  state.holds.insert(place, std::move(hold));
  changed = true;
}

// A lease never gets shorter.
void Step::count_end(HoldRecord& hold, Duration asked) {
  const bool limited = state.raised_until_us > now.lower_us;
  const Duration lease =
      limited ? std::min<Duration>(asked, microseconds(state.lease_before_us)) : asked;
  hold.lease_us = std::max(std::min(hold.end_us - now.upper_us, hold.lease_us), micros(lease));
  hold.end_us = std::max(hold.end_us, now.upper_us + micros(lease));
  if (lease > state.config.max_lease) state.longest_us = std::max(state.longest_us, hold.end_us);
}

Grant Step::grant_of(const HoldRecord& hold) const {
  // By now somebody may know better what time it is.
  const std::int64_t left = std::min(hold.end_us - now.upper_us, hold.lease_us);
  Grant grant{hold.stamp, microseconds(std::max<std::int64_t>(left, 0)), now.shown_us, {}};
  for (const LockRequest& item : hold.items) {
    Stamp floor = hold.stamp;
    const OnName on = others(item.name, hold.stamp);
    for (const HoldRecord* const other : on.of(item.mode)) floor = std::min(floor, other->stamp);
    grant.floors.push_back(floor);
  }
  return grant;
}

std::optional<Grant> Step::resolve(const Token& token) const {
  for (const HoldRecord& hold : state.holds) {
    if (hold.token == token && live(hold)) return grant_of(hold);
  }
  return {};
}

Result<AcquireOutcome> Step::acquire(const AcquireRequest& request) {
  if (request.config_version != state.config.version) return AcquireOutcome(Stale{});
  if (in_quarantine()) return quarantine();
  if (std::optional<Grant> again = resolve(request.token)) return AcquireOutcome(std::move(*again));
  Hold replaced = state.holds.end();
  if (request.replaces != nullptr) {
    replaced = find_live(request.replaces->stamp);
    if (replaced == state.holds.end() || replaced->owner.app != request.owner->app) {
      return AcquireOutcome(Gone{});
    }
  }
  if (std::optional<Busy> busy = blocker(request)) return AcquireOutcome(std::move(*busy));
  HoldRecord hold{.stamp = {},
                  .token = request.token,
                  .owner = *request.owner,
                  .items = {request.set->items().begin(), request.set->items().end()},
                  .since_us = now.shown_us};
  if (replaced != state.holds.end()) {
    hold.end_us = replaced->end_us;
    hold.lease_us = replaced->lease_us;
    erase(replaced);
  }
  sweep();
  if (state.holds.size() >= most_holds) {
    return Error{Errc::unavailable,
                 "a space on memcached has room for " + std::to_string(most_holds) +
                     " holds, and all are taken; nothing was applied: use a store without this "
                     "limit"};
  }
  count_end(hold, request.lease);
  hold.stamp =
      std::max({Stamp{state.last_stamp.value + 1}, Stamp{state.config.stamp_base.value + 1},
                request.min_stamp, Stamp{now.lower_us}});
  state.last_stamp = hold.stamp;
  Grant grant = grant_of(hold);
  put_in(std::move(hold));
  return AcquireOutcome(std::move(grant));
}

RenewReply Step::renew(const Owner& owner, std::span<const RenewRequest> requests) {
  RenewReply reply;
  reply.store_time_us = now.shown_us;
  for (const RenewRequest& request : requests) {
    const Hold hold = find_live(request.hold.stamp);
    std::optional<Renewal>& renewal = reply.renewals.emplace_back();
    // In quarantine: the state was lost, or the last renewals of this hold were.
    reply.forgotten.push_back(hold == state.holds.end() && in_quarantine());
    if (hold == state.holds.end() || hold->owner.app != owner.app) continue;
    count_end(*hold, request.lease);
    renewal = Renewal{microseconds(hold->lease_us)};
    changed = true;
  }
  return reply;
}

ReregisterOutcome Step::reregister(const ReregisterRequest& request) {
  const HoldRef& known = request.renewal.hold;
  if (request.config_version != state.config.version) return Stale{};
  if (!in_quarantine()) return Gone{};
  if (has(state.ended, known.stamp) || state.holds.size() >= most_holds) return Gone{};
  // A reader and a writer were never held at once, so the one with the lower stamp had ended: only
  // its registration came first, or its end was lost.
  std::vector<Stamp> give_way;
  for (std::size_t i = 0; i < known.set->items().size(); ++i) {
    const LockRequest& item = known.set->items()[i];
    const OnName on = others(item.name, known.stamp);
    const auto& same = on.of(item.mode);
    // The permits may have been lowered since. Who is refused learns it now; who gave way would
    // not.
    if (same.size() >= request.permits[i]) return Gone{};
    for (const HoldRecord* const hold : on.against(item.mode)) {
      if (hold->stamp > known.stamp) return Gone{};
      give_way.push_back(hold->stamp);
    }
  }
  for (const Stamp stamp : give_way) {
    if (const Hold hold = find_live(stamp); hold != state.holds.end()) erase(hold);
  }
  std::erase_if(state.holds, [&](const HoldRecord& hold) { return hold.stamp == known.stamp; });
  HoldRecord hold{.stamp = known.stamp,
                  .token = known.token,
                  .owner = *known.owner,
                  .items = {known.set->items().begin(), known.set->items().end()},
                  .since_us = known.stamp.value};
  count_end(hold, request.renewal.lease);
  state.last_stamp = std::max(state.last_stamp, hold.stamp);
  const Renewal renewal{microseconds(hold.lease_us)};
  put_in(std::move(hold));
  return renewal;
}

bool Step::end(const HoldRef& hold, std::optional<std::string_view> app) {
  const Hold found = find_live(hold.stamp);
  if (found != state.holds.end()) {
    if (app && found->owner.app != *app) return false;
    erase(found);
    return true;
  }
  // The state was lost, and nobody has registered the hold again: only its holder knows that it was
  // live.
  const bool ours = app && hold.known() && hold.owner->app == *app;
  if (!ours || !in_quarantine() || has(state.ended, hold.stamp)) return false;
  state.ended.push_back(hold.stamp);
  changed = true;
  return true;
}

Inspection Step::inspect(const InspectQuery& query) const {
  Inspection result;
  if (in_quarantine()) result.quarantine = quarantine_left();
  for (const HoldRecord& hold : state.holds) {
    if (!live(hold) || !query.matches(hold.items)) continue;
    const std::int64_t left = std::min(hold.end_us - now.upper_us, hold.lease_us);
    result.holds.push_back({hold.stamp, hold.items, hold.owner, wall_time(hold.since_us),
                            microseconds(std::max<std::int64_t>(left, 1))});
  }
  return result;
}

// Raised to the server's time, so that no version is used again after a space was made anew.
void Step::raise_version(std::int64_t before) {
  state.config.version = std::max(before + 1, now.lower_us);
  changed = true;
}

void Step::limit_leases(Duration before) {
  const bool limited = state.raised_until_us > now.lower_us;
  const std::int64_t least = micros(before);
  state.lease_before_us = limited ? std::min(state.lease_before_us, least) : least;
  state.raised_until_us = now.upper_us + micros(knows + std::chrono::seconds(5));
}

Result<SpaceConfig> Step::change(const ConfigChange& change) {
  if (std::holds_alternative<SetMaxOvertakes>(change)) return unbounded_overtaking();
  if (std::holds_alternative<SetMigrationPhase>(change)) {
    return Error{Errc::unsupported, "memcached can't be one of the two stores of a migration"};
  }
  if (const auto* const lease = std::get_if<SetMaxLease>(&change)) {
    if (lease->max_lease > longest_lease) {
      return Error{Errc::invalid, "the longest lease of a space on memcached is at most " +
                                      format_duration(longest_lease) + ", not " +
                                      format_duration(lease->max_lease)};
    }
    if (lease->max_lease > state.config.max_lease) limit_leases(state.config.max_lease);
    for (const HoldRecord& hold : state.holds) {
      state.longest_us = std::max(state.longest_us, hold.end_us);
    }
  }
  const std::int64_t before = state.config.version;
  state.config = lockset::changed(std::move(state.config), change);
  if (state.config.version != before) raise_version(before);
  return state.config;
}

Result<std::size_t> Step::reclaim(std::string_view app, std::int64_t epoch) {
  const auto current = state.config.epochs.find(app);
  if (current != state.config.epochs.end() && current->second > epoch) {
    return newer_epoch(app, std::to_string(current->second));
  }
  const Hold own = find_live(Stamp{epoch});
  if (own == state.holds.end() || own->owner.app != app) return no_live_epoch(app, epoch);
  if (current == state.config.epochs.end() || current->second != epoch) {
    raise_version(state.config.version);
    state.config.epochs[std::string(app)] = epoch;
  }
  std::size_t ended = 0;
  for (Hold hold = state.holds.begin(); hold != state.holds.end();) {
    const bool older =
        hold->owner.app == app && hold->owner.epoch < epoch && hold->stamp != Stamp{epoch};
    if (!older) {
      ++hold;
      continue;
    }
    ended += live(*hold) ? 1 : 0;
    const auto place = hold - state.holds.begin();
    erase(hold);
    hold = state.holds.begin() + place;
  }
  return ended;
}

std::size_t Step::sweep() {
  const std::size_t removed =
      std::erase_if(state.holds, [&](const HoldRecord& hold) { return !live(hold); });
  const bool over = state.quarantine_us != 0 && !in_quarantine();
  if (over) {
    state.quarantine_us = 0;
    state.ended.clear();
  }
  if (removed > 0 || over) changed = true;
  return removed;
}

void Step::begin_quarantine(std::int64_t until_us) {
  state.quarantine_us = std::max(state.quarantine_us, until_us);
  changed = true;
}

Error Step::quarantine() const {
  return Error{Errc::unavailable,
               "memcached has lost the space, or may have: no new grants for another " +
                   format_duration(std::chrono::ceil<std::chrono::seconds>(quarantine_left())) +
                   ", until all leases of before have ended"};
}

Duration Step::quarantine_left() const {
  return microseconds(std::max<std::int64_t>(state.quarantine_us - now.lower_us, 0));
}

}  // namespace lockset::memcached
