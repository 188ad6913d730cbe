// Renews and ends holds.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/quorum/backend.h"
#include "core/register_again.h"
#include "core/time_math.h"

namespace lockset::quorum {

Result<std::optional<Held>> QuorumBackend::parts_of(Stamp whole, TimePoint by) {
  if (std::optional<Held> known = book_.find(whole)) return known;
  Result<std::optional<Held>> found = look_for(whole, by);
  if (found && *found) book_.note(whole, **found);
  return found;
}

KnownHold QuorumBackend::part_of(const HoldRef& whole, const Held& held, std::size_t seat,
                                 std::string_view app) {
  const Stamp stamp = held.parts[seat].stamp;
  if (!whole.known()) {
    // Another process took the hold, so only its stamp is known, not its token.
    KnownHold part{*LockSet::make({write("unknown")}), {}, {}, stamp};
    part.owner.app = app;
    return part;
  }
  KnownHold part{*whole.set, *whole.owner, held.tag.token, stamp, held.parts[seat].store_time_us};
  // A node that lost its state writes a new record with this owner, so it needs the tag.
  part.owner.instance = tagged(part.owner.instance, held.tag);
  return part;
}

// --- renewing ---

struct QuorumBackend::Renewing {
  struct One {
    std::optional<Held> held;
    Stamp whole;
  };
  // For one node: the parts, and which of the caller's requests they belong to.
  struct Share {
    std::vector<KnownHold> parts;
    std::vector<RenewRequest> requests;
    std::vector<std::size_t> of;
  };
  Owner owner;
  std::vector<One> all;
  std::vector<Share> shares;
};

Result<RenewReply> QuorumBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                        TimePoint by) {
  const auto work = std::make_shared<Renewing>();
  work->owner = owner;
  work->shares.resize(nodes_.size());
  RenewReply reply;
  reply.renewals.resize(requests.size());
  reply.unanswered.assign(requests.size(), false);
  std::optional<Error> trouble;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const RenewRequest& request = requests[i];
    if (request.permanent) {
      return Error{Errc::unsupported, "a quorum keeps no hold without a lease"};
    }
    Renewing::One& one = work->all.emplace_back();
    one.whole = request.hold.stamp;
    Result<std::optional<Held>> held = parts_of(one.whole, by);
    if (!held) {
      trouble = std::move(held).error();
      reply.unanswered[i] = true;
      continue;
    }
    one.held = *std::move(held);
    if (!one.held) continue;
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      if (!one.held->parts[seat].live()) continue;
      Renewing::Share& share = work->shares[seat];
      share.parts.push_back(part_of(request.hold, *one.held, seat, owner.app));
      share.requests.push_back(request);
      share.of.push_back(i);
    }
  }
  for (Renewing::Share& share : work->shares) {
    for (std::size_t k = 0; k < share.parts.size(); ++k) {
      share.requests[k].hold = ref_of(share.parts[k]);
    }
  }
  Seats seats;
  for (const Renewing::Share& share : work->shares) seats.push_back(!share.of.empty());

  struct Here {
    RenewReply reply;
    TimePoint at;
  };
  const auto gather =
      ask<Here>(seats, by, Urgency::renewal,
                [this, work, by](std::size_t seat, Backend& store) -> Result<Here> {
                  const Renewing::Share& share = work->shares[seat];
                  Result<RenewReply> there = store.renew(work->owner, share.requests, by);
                  if (!there) return std::move(there).error();
                  if (there->renewals.size() != share.requests.size()) {
                    return Error{Errc::internal, "the node answered for another number of holds"};
                  }
                  // A part whose lease had ended before the node forgot it does not come back.
                  const TimePoint now = BootClock::now();
                  for (std::size_t k = 0; k < there->forgotten.size(); ++k) {
                    const Part& part = work->all[share.of[k]].held->parts[seat];
                    if (part.until <= now) there->forgotten[k] = false;
                  }
                  register_forgotten(store, work->owner, share.requests, *there, by);
                  const TimePoint at = BootClock::now();
                  for (std::size_t k = 0; k < share.of.size(); ++k) {
                    if (!there->renewals[k] || !there->answered(k)) continue;
                    const TimePoint until = later(at, there->renewals[k]->lease);
                    book_.update(work->all[share.of[k]].whole, seat,
                                 [&](Part& part) { part.until = std::max(part.until, until); });
                  }
                  return Here{*std::move(there), at};
                });
  // For each request: the lefts that nodes confirmed, and how many said that the part is gone.
  struct Tally {
    std::vector<Duration> lefts;
    std::vector<std::size_t> gone;
    std::size_t parts = 0;
  };
  const auto tally = [&](const Gather<Here>::Answers& answers) {
    std::vector<Tally> result(requests.size());
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      const Renewing::Share& share = work->shares[seat];
      for (std::size_t k = 0; k < share.of.size(); ++k) {
        Tally& one = result[share.of[k]];
        ++one.parts;
        if (!answers[seat] || !answers[seat]->ok()) continue;
        const RenewReply& there = answers[seat]->value().reply;
        if (!there.answered(k)) continue;
        if (there.renewals[k]) {
          one.lefts.push_back(there.renewals[k]->lease);
        } else {
          one.gone.push_back(seat);
        }
      }
    }
    return result;
  };
  const auto lost = [this](const Tally& one) { return one.parts - one.gone.size() < majority(); };
  const auto answers = gather->wait(by, [&](const Gather<Here>::Answers& so_far) {
    const std::vector<Tally> tallies = tally(so_far);
    return std::all_of(tallies.begin(), tallies.end(), [&](const Tally& one) {
      return one.lefts.size() >= majority() || lost(one);
    });
  });

  std::vector<QuorumTime::Reading> readings;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!answers[seat] || !answers[seat]->ok()) continue;
    const Here& here = answers[seat]->value();
    readings.push_back({seat, here.reply.store_time_us, here.at});
  }
  reply.store_time_us = time_.shown(readings);

  std::vector<Tally> tallies = tally(answers);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (reply.unanswered[i]) continue;
    const Renewing::One& one = work->all[i];
    if (!one.held) continue;
    Tally& of_one = tallies[i];
    for (const std::size_t seat : of_one.gone) {
      book_.update(one.whole, seat, [](Part& part) { part.end = Part::End::by_others; });
    }
    if (lost(of_one)) {
      // A caller that is about to end it must learn that its own call ended it.
      if (one.held->ending) continue;
      // What is left of it must not keep others out.
      for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
        const bool gone =
            std::find(of_one.gone.begin(), of_one.gone.end(), seat) != of_one.gone.end();
        if (gone || !one.held->parts[seat].live()) continue;
        const KnownHold part = part_of(requests[i].hold, *one.held, seat, owner.app);
        tidy(seat, part, later(one.held->parts[seat].until, requests[i].lease));
      }
      book_.forget(one.whole);
    } else if (of_one.lefts.size() < majority()) {
      reply.unanswered[i] = true;
      if (!trouble) trouble = no_majority<Here>(answers);
    } else {
      // So long a majority has it, if no further renewal is confirmed.
      std::sort(of_one.lefts.begin(), of_one.lefts.end(), std::greater<>());
      reply.renewals[i] = Renewal{of_one.lefts[majority() - 1]};
    }
  }
  const auto unanswered = std::count(reply.unanswered.begin(), reply.unanswered.end(), true);
  if (unanswered == 0) reply.unanswered.clear();
  // If nothing is known about any hold, that is an error like any other.
  if (trouble && unanswered == static_cast<std::ptrdiff_t>(requests.size())) return *trouble;
  return reply;
}

// --- ending ---

// All parts but one, then that one: the part in the node with the lowest index. Of several callers
// the one that ended that part ended the hold. It is the last to go, so whoever looks the hold up
// meanwhile finds the same part to be the deciding one. And those who wait are woken once the
// other nodes are free.
Result<bool> QuorumBackend::end(const HoldRef& whole, std::string_view app, TimePoint by,
                                const End& how) {
  const Result<std::optional<Held>> found = parts_of(whole.stamp, by);
  if (!found) return found.error();
  if (!*found) return false;
  const std::optional<Held> held = book_.begin_end(whole.stamp);
  if (!held) return false;  // another call of this process has just ended it
  const Now view = now();
  std::size_t deciding = nodes_.size();
  Seats others(nodes_.size(), false);
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!held->parts[seat].stamp) continue;
    const bool lower =
        deciding == nodes_.size() || view->seats[seat].index < view->seats[deciding].index;
    if (held->parts[seat].live()) others[seat] = true;
    if (lower) deciding = seat;
  }
  const bool decider_left = others[deciding];
  others[deciding] = false;

  // They may still be under way when this call returns, so they own what they need.
  std::vector<KnownHold> all_parts;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    all_parts.push_back(part_of(whole, *held, seat, app.empty() ? held->app : app));
  }
  const auto shared = std::make_shared<const std::vector<KnownHold>>(std::move(all_parts));
  const Stamp stamp = whole.stamp;
  const auto call = [this, shared, how, by, stamp](std::size_t seat, Backend& store) {
    Result<bool> ended = how(store, ref_of((*shared)[seat]), by);
    // "No" says nothing about the hold: the call may be for another application.
    if (ended && *ended) {
      book_.update(stamp, seat, [](Part& one) { one.end = Part::End::by_us; });
    }
    return ended;
  };
  const auto before = ask<bool>(others, by, Urgency::usual, call);
  const auto first = before->wait(by, [&](const Gather<bool>::Answers& so_far) {
    return good_ones<bool>(so_far) + 1 >= majority();
  });
  Gather<bool>::Answers last(nodes_.size());
  if (decider_left) {
    Seats one(nodes_.size(), false);
    one[deciding] = true;
    last = ask<bool>(one, by, Urgency::usual, call)->wait_for_all(by);
  }

  // What earlier calls of this process ended counts, too.
  std::size_t ended_by_us = 0;
  std::size_t unknown = 0;
  bool maybe = false;
  std::optional<Error> trouble;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    const Part& part = held->parts[seat];
    if (part.end == Part::End::by_us) ++ended_by_us;
    if (!part.live()) continue;
    const auto& answer = seat == deciding ? last[seat] : first[seat];
    if (answer && answer->ok()) {
      if (answer->value()) ++ended_by_us;
      continue;
    }
    ++unknown;
    const Error why =
        answer ? answer->error() : Error{Errc::indeterminate, "it did not answer in time"};
    maybe = maybe || why.may_have_applied();
    trouble = nodes_[seat]->named(why);
  }
  const bool decided = !decider_left || (last[deciding] && last[deciding]->ok());
  const bool mine = decider_left ? decided && last[deciding]->value()
                                 : held->parts[deciding].end == Part::End::by_us;
  if (unknown >= majority() || (!decided && ended_by_us < majority())) {
    Error error = *trouble;
    const bool perhaps = maybe || ended_by_us > 0;
    error.code = perhaps ? Errc::indeterminate : Errc::unavailable;
    return error;
  }
  const bool ours = decided ? mine : true;
  if (!ours && ended_by_us == 0) {
    book_.take_back_end(stamp);
    return false;
  }
  // What did not answer is no hold any more.
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    const Part& part = held->parts[seat];
    const auto& answer = seat == deciding ? last[seat] : first[seat];
    if (!part.live() || (answer && answer->ok())) continue;
    tidy(seat, (*shared)[seat], part.until);
  }
  book_.forget(stamp);
  return ours;
}

Result<bool> QuorumBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  const auto how = [owner = std::string(app)](Backend& store, const HoldRef& part,
                                              TimePoint until) {
    return store.release(part, owner, until);
  };
  return end(hold, app, by, how);
}

Result<bool> QuorumBackend::break_hold(const HoldRef& hold, TimePoint by) {
  const auto how = [](Backend& store, const HoldRef& part, TimePoint until) {
    return store.break_hold(part, until);
  };
  return end(hold, {}, by, how);
}

}  // namespace lockset::quorum
