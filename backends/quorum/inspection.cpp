// What the nodes show, put together: parts with the same token are one hold.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "backends/quorum/backend.h"
#include "core/time_math.h"

namespace lockset::quorum {
namespace {

// Without all nodes a hold may be shown by another of its stamps.
constexpr Duration short_grace = std::chrono::milliseconds(100);

// A node that hangs must not use up the time that is left for others.
TimePoint half_way(TimePoint by) {
  const TimePoint now = BootClock::now();
  return by <= now ? by : now + (by - now) / 2;
}

}  // namespace

struct QuorumBackend::Sighting {
  HoldTag tag;
  Stamp whole;
  std::vector<std::optional<HoldInfo>> parts;  // one for each seat

  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(std::count_if(
        parts.begin(), parts.end(), [](const auto& part) { return part.has_value(); }));
  }
  // How many nodes drew just what was proposed.
  [[nodiscard]] std::size_t exact() const {
    return static_cast<std::size_t>(
        std::count_if(parts.begin(), parts.end(),
                      [&](const auto& part) { return part && part->stamp == tag.proposal; }));
  }
  // What is left of the lease on a majority, or on the last node if fewer show it. Unset: for ever.
  [[nodiscard]] std::optional<Duration> remaining(std::size_t majority) const {
    std::vector<Duration> lefts;
    for (const auto& part : parts) {
      if (part) lefts.push_back(part->remaining.value_or(Duration::max()));
    }
    std::sort(lefts.begin(), lefts.end(), std::greater<>());
    const Duration left = lefts[std::min(majority, lefts.size()) - 1];
    return left == Duration::max() ? std::nullopt : std::optional(left);
  }
};

// The stamp as the attempt made it: by the proposal if a majority drew just that, else the greatest
// that any of the parts makes. Where a part is missing it may be another one, unless this client
// has seen the hold before.
void QuorumBackend::name_stamp(Sighting& sighting, const View& view, std::size_t missing) {
  const std::size_t exact = sighting.exact();
  Name name{{}, exact >= view.majority() || sighting.count() == sighting.parts.size()};
  if (exact > 0 && exact + missing >= view.majority()) {
    name.whole = whole_stamp(sighting.tag.proposal, agreed);
  } else {
    for (std::size_t seat = 0; seat < sighting.parts.size(); ++seat) {
      const auto& part = sighting.parts[seat];
      if (!part) continue;
      name.whole = std::max(name.whole, whole_stamp(part->stamp, view.seats[seat].index));
    }
  }
  const std::lock_guard lock(mutex_);
  if (names_.size() > most_names) names_.clear();
  const auto [known, fresh] = names_.try_emplace(sighting.tag.token, name);
  const bool better = name.certain || name.whole > known->second.whole;
  if (!fresh && !known->second.certain && better) known->second = name;
  sighting.whole = known->second.whole;
}

struct QuorumBackend::Seen {
  Now view;
  Seats answered;
  std::vector<Sighting> holds;
  std::optional<Duration> quarantine;

  [[nodiscard]] std::size_t missing() const {
    return static_cast<std::size_t>(std::count(answered.begin(), answered.end(), false));
  }
  // A majority has it, as far as is known.
  [[nodiscard]] bool counts(const Sighting& hold) const {
    return hold.count() + missing() >= view->majority();
  }
  // It may be the hold with this stamp; if all nodes answered, it is. A node never draws a stamp
  // again, so one of its parts identifies a hold even where other parts show a greater stamp: a
  // part that came late and is just being given back.
  [[nodiscard]] bool may_be(const Sighting& hold, Stamp whole) const {
    if (!counts(hold)) return false;
    if (hold.whole == whole) return true;
    const int index = drawn_by(whole);
    if (index == agreed) {
      return hold.tag.proposal == part_of_stamp(whole) && hold.exact() > 0 &&
             hold.exact() + missing() >= view->majority();
    }
    const std::optional<std::size_t> seat = view->seat_of(index);
    if (!seat || !answered[*seat]) return false;
    const auto& part = hold.parts[*seat];
    return part && part->stamp == part_of_stamp(whole);
  }
};

Result<QuorumBackend::Seen> QuorumBackend::look(const InspectQuery& query, TimePoint by,
                                                Patience patience) {
  Seen seen;
  seen.view = now();
  if (!seen.view || seen.view->refusal) {
    Result<Now> read = refresh(by);
    if (!read) return std::move(read).error();
    seen.view = *std::move(read);
  }
  const auto shared = std::make_shared<const InspectQuery>(query);
  const auto gather = ask<Inspection>(
      counting(*seen.view), by, Urgency::usual,
      [shared, by](std::size_t, Backend& store) { return store.inspect(*shared, by); },
      patience == Patience::for_each);
  const auto enough = [this](const Gather<Inspection>::Answers& so_far) {
    return good_ones<Inspection>(so_far) >= majority();
  };
  const auto answers =
      patience == Patience::for_each
          ? gather->wait_for_all(by)
          : gather->wait(by, enough, patience == Patience::for_all ? long_grace : short_grace);
  if (good_ones<Inspection>(answers) < majority()) return no_majority<Inspection>(answers);

  seen.answered.resize(nodes_.size(), false);
  std::map<Token, Sighting> by_token;
  std::vector<Duration> quarantines;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!answers[seat] || !answers[seat]->ok()) continue;
    seen.answered[seat] = true;
    const Inspection& there = answers[seat]->value();
    quarantines.push_back(there.quarantine.value_or(Duration::zero()));
    for (const HoldInfo& hold : there.holds) {
      const std::optional<HoldTag> tag = tag_of(hold.owner.instance);
      if (!tag) continue;  // no hold of a quorum
      Sighting& sighting = by_token[tag->token];
      sighting.tag = *tag;
      sighting.parts.resize(nodes_.size());
      sighting.parts[seat] = hold;
    }
  }
  // It grants again once a majority does.
  std::sort(quarantines.begin(), quarantines.end());
  const Duration waits = quarantines[majority() - 1];
  if (waits > Duration::zero()) seen.quarantine = waits;

  for (auto& [token, sighting] : by_token) {
    name_stamp(sighting, *seen.view, seen.missing());
    seen.holds.push_back(std::move(sighting));
  }
  return seen;
}

Result<Inspection> QuorumBackend::inspect(const InspectQuery& query, TimePoint by) {
  return show(query, by, Patience::for_all);
}

Result<Inspection> QuorumBackend::show(const InspectQuery& query, TimePoint by, Patience patience) {
  Result<Seen> seen = look(query, half_way(by), patience);
  if (!seen) return std::move(seen).error();
  Inspection result;
  result.quarantine = seen->quarantine;
  for (const Sighting& sighting : seen->holds) {
    if (!seen->counts(sighting)) continue;
    const auto first = std::find_if(sighting.parts.begin(), sighting.parts.end(),
                                    [](const auto& part) { return part.has_value(); });
    HoldInfo hold = **first;
    hold.stamp = sighting.whole;
    hold.owner.instance = std::string(without_tag(hold.owner.instance));
    hold.remaining = sighting.remaining(majority());
    result.holds.push_back(std::move(hold));
  }
  std::sort(result.holds.begin(), result.holds.end(),
            [](const HoldInfo& a, const HoldInfo& b) { return a.stamp < b.stamp; });
  return result;
}

// A hold that another process took.
Result<std::optional<Held>> QuorumBackend::look_for(Stamp whole, TimePoint by) {
  Result<std::optional<Held>> found = look_for(whole, by, Patience::for_all);
  // A node that is slow for a moment is soon taken to be down.
  if (!found && found.error().retryable()) found = look_for(whole, by, Patience::for_each);
  return found;
}

Result<std::optional<Held>> QuorumBackend::look_for(Stamp whole, TimePoint by, Patience patience) {
  const Result<Seen> seen = look({}, half_way(by), patience);
  if (!seen) return seen.error();
  const Sighting* found = nullptr;
  bool several = false;
  for (const Sighting& sighting : seen->holds) {
    if (!seen->may_be(sighting, whole)) continue;
    several = found != nullptr;
    found = &sighting;
  }
  if (found != nullptr && !several) {
    Held held{.tag = found->tag, .app = {}, .parts = std::vector<Part>(nodes_.size())};
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      const auto& part = found->parts[seat];
      if (!part) continue;
      held.app = part->owner.app;
      held.parts[seat].stamp = part->stamp;
      held.parts[seat].until =
          part->remaining ? later(BootClock::now(), *part->remaining) : TimePoint::max();
    }
    return std::optional(std::move(held));
  }
  // The node that drew the stamp may be the only one that could tell which hold it is.
  const int index = drawn_by(whole);
  const std::optional<std::size_t> seat =
      index == agreed ? std::nullopt : seen->view->seat_of(index);
  const bool silent = index != agreed && (!seat || !seen->answered[*seat]);
  const bool perhaps =
      std::any_of(seen->holds.begin(), seen->holds.end(),
                  [&](const Sighting& one) { return seen->counts(one) && one.whole < whole; });
  if (several || (silent && perhaps)) {
    return Error{Errc::unavailable,
                 "a node of the quorum does not answer, and without it it is not known which hold "
                 "has the stamp " +
                     std::to_string(whole.value)};
  }
  return std::optional<Held>();
}

Result<std::optional<Grant>> QuorumBackend::look_for_attempt(const Token& token,
                                                             const InspectQuery& query,
                                                             TimePoint by) {
  const Result<Seen> seen = look(query, half_way(by), Patience::for_all);
  if (!seen) return seen.error();
  for (const Sighting& sighting : seen->holds) {
    if (sighting.tag.token != token || sighting.count() < majority()) continue;
    Grant grant;
    grant.stamp = sighting.whole;
    grant.lease = sighting.remaining(majority()).value_or(Duration::max());
    grant.store_time_us = time_.shown({});
    return std::optional(std::move(grant));
  }
  return std::optional<Grant>();
}

}  // namespace lockset::quorum
