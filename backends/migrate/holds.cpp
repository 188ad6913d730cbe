// Renews, ends and lists holds that stand in one store or in both.
#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/migrate/backend.h"
#include "core/register_again.h"
#include "core/time_math.h"

namespace lockset::migrate {
namespace {

// The shorter rest of two leases; unset: it never ends.
std::optional<Duration> earlier(std::optional<Duration> one, std::optional<Duration> other) {
  if (!one || !other) return one ? one : other;
  return std::min(*one, *other);
}

// Whether the owner of this hold of the old store knows it by its stamp in the new one, because it
// was taken in dual-new. The number of the migration does not matter, because old-only has none.
bool goes_by_new_stamp(const HoldInfo& hold) {
  const std::optional<HoldTag> tag = tag_of(hold.owner.instance);
  return tag && tag->phase == MigrationPhase::dual_new;
}

// Whether the hold of the new store is the other part of the hold of the old one.
bool is_part_of(const HoldInfo& in_new, const HoldInfo& in_old) {
  const std::optional<HoldTag> one = tag_of(in_new.owner.instance);
  const std::optional<HoldTag> other = tag_of(in_old.owner.instance);
  return one && other && one->in_old == in_old.stamp && one->migration == other->migration;
}

// What the record says; if it says nothing, the hold stands in this store alone.
HoldTag tag_or_alone(const HoldInfo& hold, const View& view, MigrationPhase alone) {
  return tag_of(hold.owner.instance, view.stage.migration).value_or(HoldTag{.phase = alone});
}

}  // namespace

Owner MigrateBackend::owner_in(Which store, const Owner& owner, const HoldTag& tag) const {
  Owner result = owner;
  result.instance = tagged(owner.instance, tag);
  if (owner.epoch == 0) return result;
  // An epoch is the stamp of the hold on the application id, which has a stamp of its own in each
  // store.
  if (const std::optional<Parts> hold = parts_.epoch(Stamp{owner.epoch})) {
    result.epoch = (store == Which::old_store ? hold->in_old : hold->in_new).value;
  }
  return result;
}

// --- holds of others ---

Result<std::optional<Parts>> MigrateBackend::parts_of(Stamp stamp, TimePoint by) {
  if (std::optional<Parts> known = parts_.find(stamp)) return known;
  Result<std::optional<Parts>> found = look_for(stamp, by);
  if (found && *found) parts_.note(**found, {});
  return found;
}

Result<std::optional<Parts>> MigrateBackend::look_for(Stamp stamp, TimePoint by) {
  const Result<Now> view = refresh(by);
  if (!view) return view.error();
  const MigrationPhase phase = (*view)->stage.phase;
  if (!in_new(phase)) return look_for_after_way_back(stamp, by);
  // If only one store counts, and the stamp can't be one of the other, that store is asked itself.
  if (phase == MigrationPhase::finished) {
    return std::optional(Parts{.phase = MigrationPhase::new_only, .in_new = stamp});
  }
  const auto holds_in = [by](Side& side) -> Result<std::vector<HoldInfo>> {
    const Result<Backend*> store = side.get(by);
    Result<Inspection> all = store ? (*store)->inspect({}, by) : store.error();
    if (!all) return std::move(all).error();
    return std::move(all->holds);
  };
  const auto with_end = [](Parts parts, const HoldInfo& hold) {
    if (hold.remaining) parts.until = later(BootClock::now(), *hold.remaining);
    return std::optional(parts);
  };
  const Result<std::vector<HoldInfo>> new_holds = holds_in(new_);
  if (!new_holds) return new_holds.error();
  for (const HoldInfo& hold : *new_holds) {
    const HoldTag tag = tag_or_alone(hold, **view, MigrationPhase::new_only);
    const Parts parts{.phase = tag.phase, .in_old = tag.in_old, .in_new = hold.stamp};
    if (parts.phase != MigrationPhase::shadow && parts.stamp() == stamp) {
      return with_end(parts, hold);
    }
  }
  if (!in_old(phase)) return std::optional<Parts>();
  const Result<std::vector<HoldInfo>> old_holds = holds_in(old_);
  if (!old_holds) return old_holds.error();
  for (const HoldInfo& hold : *old_holds) {
    if (hold.stamp != stamp) continue;
    const MigrationPhase taken_in = tag_or_alone(hold, **view, MigrationPhase::old_only).phase;
    // This is the old part of a hold that is known by its stamp in the new store.
    if (taken_in >= MigrationPhase::dual_new) break;
    // Only the old part of a hold in both stores is left: it can be ended, but not renewed.
    const bool lost_a_part = in_both(taken_in);
    return with_end({.phase = lost_a_part ? taken_in : MigrationPhase::old_only, .in_old = stamp},
                    hold);
  }
  return std::optional<Parts>();
}

// The old store alone counts. The stamp can be one of the new store, which may be gone, only if a
// hold of dual-new is left in the old one.
Result<std::optional<Parts>> MigrateBackend::look_for_after_way_back(Stamp stamp, TimePoint by) {
  const Parts as_it_is{.in_old = stamp};
  const Result<Backend*> old_store = old_.get(by);
  const Result<Inspection> all = old_store ? (*old_store)->inspect({}, by) : old_store.error();
  if (!all) return all.error();
  std::vector<HoldInfo> left;
  std::copy_if(all->holds.begin(), all->holds.end(), std::back_inserter(left), goes_by_new_stamp);
  if (left.empty()) return std::optional(as_it_is);
  for (const HoldInfo& hold : new_parts_of(left, by)) {
    if (hold.stamp != stamp) continue;
    return std::optional(Parts{.phase = MigrationPhase::dual_new,
                               .in_old = tag_of(hold.owner.instance)->in_old,
                               .in_new = stamp});
  }
  return std::optional(as_it_is);
}

// The parts that the new store tells of; half of the time is left for the rest.
std::vector<HoldInfo> MigrateBackend::new_parts_of(const std::vector<HoldInfo>& of_old,
                                                   TimePoint by) {
  const TimePoint now = BootClock::now();
  const TimePoint soon = by <= now ? by : now + (by - now) / 2;
  const Result<Backend*> store = new_.get(soon);
  Result<Inspection> all = store ? (*store)->inspect({}, soon) : store.error();
  std::vector<HoldInfo> found;
  if (!all) return found;
  for (HoldInfo& hold : all->holds) {
    const auto mine = [&](const HoldInfo& each) { return is_part_of(hold, each); };
    if (std::any_of(of_old.begin(), of_old.end(), mine)) found.push_back(std::move(hold));
  }
  return found;
}

// --- renewing ---

// For one store: the requests, and which of the caller's requests they belong to.
struct MigrateBackend::RenewingHalf {
  std::vector<RenewRequest> requests;
  std::deque<Owner> owners;  // the requests' owners, as the store has them
  std::vector<std::size_t> of;
  Result<RenewReply> reply = RenewReply{};
};

struct MigrateBackend::Renewing {
  std::vector<std::optional<Parts>> parts;
  RenewingHalf halves[2];
};

Result<RenewReply> MigrateBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                         TimePoint by) {
  const TimePoint sent = BootClock::now();
  Renewing all;
  RenewReply reply;
  reply.renewals.assign(requests.size(), Renewal{Duration::max()});
  reply.unanswered.assign(requests.size(), false);
  std::optional<Error> trouble;
  const Now view = now();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Result<std::optional<Parts>> parts = parts_of(requests[i].hold.stamp, by);
    if (!parts) {
      // If the parts of one hold can't be looked up now, the others must still be renewed.
      trouble = std::move(parts).error();
      reply.unanswered[i] = true;
      all.parts.emplace_back();
      continue;
    }
    all.parts.push_back(*std::move(parts));
    const std::optional<Parts>& hold = all.parts.back();
    if (!hold) continue;
    for (const Which which : {Which::old_store, Which::new_store}) {
      const bool old_store = which == Which::old_store;
      if (!(old_store ? in_old(hold->phase) : in_new(hold->phase))) continue;
      RenewingHalf& half = all.halves[static_cast<std::size_t>(which)];
      RenewRequest request = requests[i];
      request.hold = part_in(which, request.hold, *hold);
      if (const Owner* const taken_by = request.hold.owner) {
        // A store that lost its state writes a new record with this owner, so it needs the tag.
        const HoldTag tag{.phase = hold->phase,
                          .in_old = old_store ? Stamp{} : hold->in_old,
                          .migration = view ? view->stage.migration : 0};
        request.hold.owner = &half.owners.emplace_back(owner_in(which, *taken_by, tag));
      }
      half.requests.push_back(request);
      half.of.push_back(i);
    }
  }

  std::optional<std::int64_t> time;
  for (const Which which : {Which::old_store, Which::new_store}) {
    RenewingHalf& half = all.halves[static_cast<std::size_t>(which)];
    if (half.requests.empty()) continue;
    const Result<Backend*> store = side(which).get(by);
    half.reply = store ? (*store)->renew(owner, half.requests, by) : store.error();
    if (half.reply && half.reply->renewals.size() != half.requests.size()) {
      half.reply = Error{Errc::internal, "the store answered for another number of holds"};
    }
    if (!half.reply) {
      trouble = half.reply.error();
      for (const std::size_t i : half.of) reply.unanswered[i] = true;
      continue;
    }
    if (!time) {
      time = which == Which::old_store ? store_time_.of_old(half.reply->store_time_us)
                                       : store_time_.of_new(half.reply->store_time_us);
    }
    register_forgotten(**store, owner, half.requests, *half.reply, by);
    for (std::size_t k = 0; k < half.of.size(); ++k) {
      if (!half.reply->answered(k)) {
        reply.unanswered[half.of[k]] = true;
        continue;
      }
      std::optional<Renewal>& so_far = reply.renewals[half.of[k]];
      const std::optional<Renewal>& here = half.reply->renewals[k];
      if (!here) {
        so_far.reset();
      } else if (so_far) {
        so_far->lease = std::min(so_far->lease, here->lease);
      }
    }
  }
  // If all holds were gone, no store was asked, but its time is known all the same.
  reply.store_time_us = time ? *time : store_time_.at(BootClock::now());

  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::optional<Parts>& hold = all.parts[i];
    if (!hold) {
      reply.renewals[i].reset();
      continue;
    }
    const Stamp stamp = requests[i].hold.stamp;
    if (!reply.renewals[i]) {
      // If either part is lost, the hold is lost, and the other part must not keep others out.
      reply.unanswered[i] = false;
      // But a caller that is about to end it must learn that its own call ended it.
      const std::optional<Parts> known = parts_.find(stamp);
      if (known && known->ending) continue;
      if (in_both(hold->phase)) {
        static_cast<void>(end(requests[i].hold, by, [&](Backend& store, const HoldRef& part) {
                            return store.release(part, owner.app, by);
                          }).ok());
      }
      parts_.forget(stamp);
    } else if (reply.unanswered[i]) {
      reply.renewals[i].reset();
    } else {
      if (hold->phase == MigrationPhase::shadow) {
        shadow_.renewed(hold->in_old, requests[i].lease);
      }
      const TimePoint until = later(sent, reply.renewals[i]->lease);
      parts_.update(stamp, [&](Parts& kept) { kept.until = std::max(kept.until, until); });
    }
  }
  if (!trouble) reply.unanswered.clear();
  const auto unanswered = std::count(reply.unanswered.begin(), reply.unanswered.end(), true);
  // If nothing is known about any hold, that is an error like any other.
  if (trouble && unanswered == static_cast<std::ptrdiff_t>(requests.size())) return *trouble;
  return reply;
}

// --- ending ---

HoldRef MigrateBackend::part_in(Which store, const HoldRef& whole, const Parts& parts) {
  HoldRef part = whole;
  part.stamp = store == Which::old_store ? parts.in_old : parts.in_new;
  part.store_time_us = 0;  // it belongs to one of the stores, and which one is unknown
  return part;
}

Result<bool> MigrateBackend::end(const HoldRef& whole, TimePoint by, const End& how) {
  const Stamp stamp = whole.stamp;
  const Result<std::optional<Parts>> found = parts_of(stamp, by);
  if (!found) return found.error();
  if (!*found) return false;
  const Parts hold = **found;
  parts_.update(stamp, [](Parts& kept) { kept.ending = true; });
  if (hold.phase == MigrationPhase::shadow) shadow_.ended(hold.in_old);
  bool ended_here = false;  // the part that decides
  bool ended_any = false;
  std::optional<Error> trouble;
  // The new store first, because the hold was taken there last.
  for (const Which which : {Which::new_store, Which::old_store}) {
    const bool old_store = which == Which::old_store;
    if (!(old_store ? in_old(hold.phase) : in_new(hold.phase))) continue;
    if (old_store ? hold.old_ended : hold.new_ended) continue;
    const Result<Backend*> store = side(which).get(by);
    const Result<bool> ended = store ? how(**store, part_in(which, whole, hold)) : store.error();
    if (!ended) {
      // "Perhaps" must not become "certainly not".
      if (!trouble || ended.error().may_have_applied()) trouble = ended.error();
      continue;
    }
    // "No" says nothing about the hold: the call may be for another application.
    if (!*ended) continue;
    ended_any = true;
    const bool decides = old_store == (hold.phase <= MigrationPhase::dual_old);
    ended_here = ended_here || decides;
    parts_.update(stamp,
                  [&](Parts& kept) { (old_store ? kept.old_ended : kept.new_ended) = true; });
  }
  if (trouble) {
    // The retry reports the end as its own, unless another call ends the rest before.
    if (ended_here) parts_.update(stamp, [](Parts& kept) { kept.ended_here = true; });
    if (ended_any) trouble->code = Errc::indeterminate;
    return *trouble;
  }
  // The store said "yes" to one call only, which returns it or has stored it here. So if several
  // calls end the hold at once, one of them reports the end as its own.
  bool credited = ended_here;
  parts_.update(stamp, [&](Parts& kept) {
    if (std::exchange(kept.ended_here, false)) credited = true;
  });
  parts_.forget(stamp);
  return credited;
}

Result<bool> MigrateBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return end(hold, by,
             [&](Backend& store, const HoldRef& part) { return store.release(part, app, by); });
}

Result<bool> MigrateBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end(hold, by,
             [&](Backend& store, const HoldRef& part) { return store.break_hold(part, by); });
}

// --- looking ---

// Shows the holds that stand in each store that their phase asks for. The old store is read first:
// a hold that was just taken may be missing then, but no hold is shown that was never granted.
Result<Inspection> MigrateBackend::inspect(const InspectQuery& query, TimePoint by) {
  const Result<Now> view = refresh(by);
  if (!view) return view.error();
  const MigrationPhase phase = (*view)->stage.phase;
  Inspection result;
  std::unordered_map<Stamp, HoldInfo> in_both_stores;  // by the stamp in the old store
  std::vector<HoldInfo> left_of_dual_new;
  const auto show = [&](HoldInfo hold, Which store) {
    hold.owner.epoch = (store == Which::old_store ? parts_.epoch_of_old(Stamp{hold.owner.epoch})
                                                  : parts_.epoch_of_new(Stamp{hold.owner.epoch}))
                           .value;
    hold.owner.instance = std::string(without_tag(hold.owner.instance));
    result.holds.push_back(std::move(hold));
  };
  const auto show_waiters = [&](Inspection& from) {
    for (WaiterInfo& waiter : from.waiters) {
      waiter.owner.instance = std::string(without_tag(waiter.owner.instance));
      result.waiters.push_back(std::move(waiter));
    }
    if (from.quarantine) {
      result.quarantine = std::max(result.quarantine.value_or(Duration::zero()), *from.quarantine);
    }
  };
  if (in_old(phase)) {
    const Result<Backend*> store = old_.get(by);
    Result<Inspection> found = store ? (*store)->inspect(query, by) : store.error();
    if (!found) return found;
    for (HoldInfo& hold : found->holds) {
      const MigrationPhase taken_in = tag_or_alone(hold, **view, MigrationPhase::old_only).phase;
      // After a way back the new store is asked only for the stamps of holds taken in dual-new. All
      // others are shown as they stand here.
      if (in_both(taken_in) && in_new(phase)) {
        const Stamp stamp = hold.stamp;
        in_both_stores.emplace(stamp, std::move(hold));
      } else if (!in_new(phase) && goes_by_new_stamp(hold)) {
        left_of_dual_new.push_back(std::move(hold));
      } else {
        show(std::move(hold), Which::old_store);
      }
    }
    if (!left_of_dual_new.empty()) {
      const std::vector<HoldInfo> parts = new_parts_of(left_of_dual_new, by);
      for (HoldInfo& hold : left_of_dual_new) {
        const auto part = std::find_if(parts.begin(), parts.end(), [&](const HoldInfo& each) {
          return is_part_of(each, hold);
        });
        if (part != parts.end()) hold.stamp = part->stamp;
        show(std::move(hold), Which::old_store);
      }
    }
    show_waiters(*found);
  }
  if (in_new(phase)) {
    const Result<Backend*> store = new_.get(by);
    Result<Inspection> found = store ? (*store)->inspect(query, by) : store.error();
    if (!found) return found;
    for (HoldInfo& hold : found->holds) {
      const HoldTag tag = tag_or_alone(hold, **view, MigrationPhase::new_only);
      if (tag.phase == MigrationPhase::shadow) continue;
      if (in_both(tag.phase) && in_old(phase)) {
        const auto half = in_both_stores.find(tag.in_old);
        if (half == in_both_stores.end()) continue;
        const bool old_stamp = tag.phase == MigrationPhase::dual_old;
        HoldInfo whole = old_stamp ? half->second : hold;
        whole.remaining = earlier(half->second.remaining, hold.remaining);
        show(std::move(whole), old_stamp ? Which::old_store : Which::new_store);
        continue;
      }
      // When the old store does not count any more, the hold's part there does not matter.
      if (tag.phase == MigrationPhase::dual_old) hold.stamp = tag.in_old;
      show(std::move(hold), Which::new_store);
    }
    show_waiters(*found);
  }
  std::sort(result.holds.begin(), result.holds.end(),
            [](const HoldInfo& a, const HoldInfo& b) { return a.stamp < b.stamp; });
  std::stable_sort(result.waiters.begin(), result.waiters.end(),
                   [](const WaiterInfo& a, const WaiterInfo& b) { return a.since < b.since; });
  return result;
}

// --- the rest ---

Result<std::size_t> MigrateBackend::reclaim(std::string_view app, std::int64_t epoch,
                                            TimePoint by) {
  const Result<std::optional<Parts>> hold = parts_of(Stamp{epoch}, by);
  if (!hold) return hold.error();
  if (!*hold) {
    const Now view = now();
    const SpaceConfig config = view ? view->together : SpaceConfig{};
    const auto known = config.epochs.find(app);
    if (known != config.epochs.end() && known->second > epoch) {
      return Error{Errc::superseded,
                   "a newer instance of application " + in_quotes(app) + " has taken over"};
    }
    return Error{Errc::not_held, "the hold " + std::to_string(epoch) + " on application " +
                                     in_quotes(app) + " is not live"};
  }
  parts_.note(**hold, std::string(app));
  std::size_t ended = 0;
  for (const Which which : {Which::old_store, Which::new_store}) {
    const bool old_store = which == Which::old_store;
    if (!(old_store ? in_old((*hold)->phase) : in_new((*hold)->phase))) continue;
    const Result<Backend*> store = side(which).get(by);
    const Stamp part = old_store ? (*hold)->in_old : (*hold)->in_new;
    const Result<std::size_t> here = store ? (*store)->reclaim(app, part.value, by) : store.error();
    if (!here) return here.error();
    // A hold that stands in both counts once.
    ended = std::max(ended, *here);
  }
  return ended;
}

Result<std::size_t> MigrateBackend::sweep(TimePoint by) {
  const Now view = now();
  if (!view) return std::size_t{0};
  const MigrationPhase phase = view->stage.phase;
  std::size_t removed = 0;
  for (const Which which : {Which::old_store, Which::new_store}) {
    const bool old_store = which == Which::old_store;
    if (!(old_store ? in_old(phase) : in_new(phase))) continue;
    const Result<Backend*> store = side(which).get(by);
    const Result<std::size_t> here = store ? (*store)->sweep(by) : store.error();
    if (!here) return here.error();
    // The parts of a hold may expire at different times and be removed by different sweeps. The
    // hold counts once, in the store whose part decides.
    if (old_store == (phase <= MigrationPhase::dual_old)) removed = *here;
  }
  return removed;
}

}  // namespace lockset::migrate
