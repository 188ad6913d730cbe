// Takes a hold: asks all nodes at once, and needs a majority. ADR 0073 has the proofs.
#include <algorithm>
#include <string>
#include <utility>

#include "backends/quorum/backend.h"
#include "backends/quorum/ticket.h"
#include "core/time_math.h"

namespace lockset::quorum {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Proposals are ahead of the calendar by at least this, so that they are also ahead of the nodes'
// clocks when they arrive, and at most by that: a node whose clock is further ahead never agrees.
constexpr Duration least_lead = milliseconds(1);
constexpr Duration most_lead = std::chrono::seconds(2);
// A stamp that is further ahead of the others than this is not followed: some clock is wrong.
constexpr std::int64_t outlier_us = 3'600'000'000;

// How often a set is asked for again in one call if each of several clients got a minority.
constexpr int most_rounds = 4;
// How long an attempt may be asked for after its lease.
constexpr Duration doubts_last = std::chrono::minutes(2);
// The lease of what only raises a node's stamps.
constexpr Duration raise_lease = std::chrono::seconds(1);

Token of_round(Token token, int round) {
  token.bytes.back() ^= static_cast<std::uint8_t>(round);
  return token;
}

std::int64_t calendar_us() {
  return std::chrono::duration_cast<microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const Grant* grant_in(const std::optional<Result<AcquireOutcome>>& answer) {
  return answer && answer->ok() ? std::get_if<Grant>(&**answer) : nullptr;
}

const Busy* busy_in(const std::optional<Result<AcquireOutcome>>& answer) {
  return answer && answer->ok() ? std::get_if<Busy>(&**answer) : nullptr;
}

}  // namespace

// One round of an acquire, shared with the work that may still be under way when it is decided.
struct QuorumBackend::Attempt {
  explicit Attempt(const AcquireRequest& request)
      : set(*request.set), plain_owner(*request.owner), owner(*request.owner) {}

  // --- fixed before anybody is asked ---
  const LockSet set;
  const Owner plain_owner;
  Owner owner;  // tagged
  HoldTag tag;
  std::vector<std::uint32_t> permits;
  Duration lease{};
  TimePoint sent;   // on the lease clock
  TimePoint until;  // no part of it lives longer, on the machine's clock
  TimePoint by;

  struct Answer {
    std::optional<Result<AcquireOutcome>> outcome;
    TimePoint at;  // when it was received
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Answer> answers;
  Seats asked;
  // --- once it is decided: an answer that comes then is late ---
  bool decided = false;
  Stamp granted;  // 0: not granted
  // The stamp's part, if it is the greatest one and not the proposal. A late part must have a lower
  // one, otherwise it would look as if the hold had another stamp; an early one no greater one.
  std::optional<Stamp> level;

  [[nodiscard]] KnownHold part(Stamp stamp, std::int64_t store_time_us = 0) const {
    return {set, owner, tag.token, stamp, store_time_us};
  }
  struct Count {
    std::size_t exact = 0;  // granted with the proposal
    std::size_t granted = 0;
    std::size_t busy = 0;
    std::size_t stale = 0;
    std::size_t unsure = 0;  // perhaps granted
    std::size_t pending = 0;
  };
  [[nodiscard]] Count count() const {
    Count result;
    for (std::size_t seat = 0; seat < answers.size(); ++seat) {
      if (!asked[seat]) continue;
      const auto& outcome = answers[seat].outcome;
      if (!outcome) {
        ++result.pending;
      } else if (!outcome->ok()) {
        if (outcome->error().may_have_applied()) ++result.unsure;
      } else if (const Grant* grant = std::get_if<Grant>(&**outcome)) {
        ++result.granted;
        if (grant->stamp == tag.proposal) ++result.exact;
      } else if (std::holds_alternative<Busy>(**outcome)) {
        ++result.busy;
      } else if (std::holds_alternative<Stale>(**outcome)) {
        ++result.stale;
      }
    }
    return result;
  }
};

Stamp QuorumBackend::propose(Stamp at_least) {
  const std::lock_guard lock(mutex_);
  lead_ = std::max(lead_, least_lead);
  const std::int64_t ahead = calendar_us() + lead_ / microseconds(1);
  // No two proposals of this client are the same.
  seen_ = std::max({Stamp{ahead}, Stamp{seen_.value + 1}, least_part(at_least)});
  return seen_;
}

void QuorumBackend::saw(Stamp part, Stamp proposal) {
  const std::int64_t ahead = part.value - proposal.value;
  if (ahead > outlier_us) return;
  const std::lock_guard lock(mutex_);
  seen_ = std::max(seen_, part);
  if (ahead <= 0) {
    lead_ -= lead_ / 64;  // it may have been one slow answer
  } else {
    // The node's clock is ahead, or the way to it is long: the next proposal takes it into account.
    lead_ = std::min(most_lead, lead_ + microseconds(ahead));
  }
}

Result<AcquireOutcome> QuorumBackend::try_acquire(const AcquireRequest& request) {
  if (request.replaces != nullptr || !request.unchanged_since.empty()) {
    return Error{Errc::unsupported, "a quorum can neither convert holds nor observe names"};
  }
  // The same request again. Its parts must not be taken for those of another attempt.
  if (const std::optional<Book::Attempt> known = book_.attempt(request.token)) {
    Result<std::optional<Grant>> found = resolve(HoldRef(request.token), request.by);
    if (!found) return std::move(found).error();
    if (*found) return AcquireOutcome(**std::move(found));
    return Error{Errc::unavailable, "this attempt was given up, or its hold has ended"};
  }
  Now view = now();
  if (!view || view->refusal) {
    const Result<Now> read = refresh(request.by);
    if (!read) return read.error();
    view = *read;
  }
  if (request.config_version != view->together.version) return AcquireOutcome(Stale{});
  for (int round = 0;; ++round) {
    auto [outcome, split] = attempt(request, *view, of_round(request.token, round), round);
    if (split == Split::no) return std::move(outcome);
    // Several clients have a minority each, and gave it back. The one that comes first next time
    // gets all.
    const Duration most = milliseconds(2) * (1 << round);
    sleep_until(BootClock::now() + thread_random().between(Duration(0), most), {});
  }
}

std::pair<Result<AcquireOutcome>, QuorumBackend::Split> QuorumBackend::attempt(
    const AcquireRequest& request, const View& view, const Token& token, int round) {
  const auto shared = std::make_shared<Attempt>(request);
  Attempt& mine = *shared;
  mine.tag = {token, propose(request.min_stamp)};
  mine.owner.instance = tagged(mine.owner.instance, mine.tag);
  mine.lease = request.lease;
  mine.sent = clock_.now();
  mine.by = request.by;
  mine.until = later(later(request.by, request.lease), std::chrono::seconds(2));
  mine.permits.assign(request.permits.begin(), request.permits.end());
  mine.answers.resize(nodes_.size());
  mine.asked = counting(view);
  std::optional<std::size_t> lead;
  for (int index = 0; index < static_cast<int>(nodes_.size()) && !lead; ++index) {
    const std::optional<std::size_t> seat = view.seat_of(index);
    if (seat && !nodes_[*seat]->is_down()) lead = seat;
  }
  send(shared, view, request, lead);

  std::unique_lock lock(mine.mutex);
  const std::size_t needed = majority();
  wait_for_most(
      mine.changed, lock, request.by, [&] { return mine.count().pending == 0; },
      [&] {
        const Attempt::Count count = mine.count();
        const bool refused = count.granted + count.pending < needed &&
                             count.granted + count.busy + count.stale >= needed;
        return refused || count.granted >= needed;
      });
  const Attempt::Count count = mine.count();
  mine.decided = true;
  for (const auto& answer : mine.answers) {
    if (const Grant* grant = grant_in(answer.outcome)) saw(grant->stamp, mine.tag.proposal);
  }
  if (count.exact >= needed) {
    const Stamp whole = whole_stamp(mine.tag.proposal, agreed);
    lock.unlock();
    return {granted(mine, request, whole), Split::no};
  }
  if (count.granted >= needed) {
    // The greatest stamp among them, unless a clock is far ahead: see outlier_us.
    std::vector<Stamp> drawn;
    for (const auto& answer : mine.answers) {
      if (const Grant* grant = grant_in(answer.outcome)) drawn.push_back(grant->stamp);
    }
    std::sort(drawn.begin(), drawn.end());
    Stamp level = drawn[needed - 1];
    for (const Stamp each : drawn) {
      if (each > level && each.value - drawn[needed - 1].value <= outlier_us) level = each;
    }
    int by_index = -1;
    Seats lower(nodes_.size(), false);
    std::size_t high = 0;
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      const Grant* grant = grant_in(mine.answers[seat].outcome);
      if (grant == nullptr) continue;
      if (grant->stamp < level) lower[seat] = true;
      if (grant->stamp != level) continue;
      ++high;
      by_index = std::max(by_index, view.seats[seat].index);
    }
    mine.level = level;
    lock.unlock();
    if (high < needed) {
      high += raise(mine, view, lower, level, needed - high);
    }
    if (high >= needed) return {granted(mine, request, whole_stamp(level, by_index)), Split::no};
    const std::size_t left = give_back(mine, request.by);
    return {Error{left >= needed ? Errc::indeterminate : Errc::unavailable,
                  "a majority granted the locks, but did not confirm the stamp in time"},
            Split::no};
  }
  lock.unlock();
  return refused(shared, request, view, lead, round);
}

void QuorumBackend::send(const std::shared_ptr<Attempt>& attempt, const View& view,
                         const AcquireRequest& request, std::optional<std::size_t> lead) {
  const auto ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  const bool will_wait = request.will_wait;
  // Only if all nodes can tell: otherwise the core does not know that a detached hold has to be
  // told so, and it would lose the parts in those that can.
  const bool ends_with_process = request.ends_with_process && traits_.ends_with_process;
  const Stamp floor = least_part(request.min_stamp);
  const bool even_if_down = !majority_is_up();
  const Seats asked = attempt->asked;
  if (ticket && !ticket->over && ticket->there && ticket->seat != lead) {
    end_wait(*ticket, request.by);
  }
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!asked[seat]) continue;
    const bool is_lead = seat == lead;
    std::shared_ptr<WaitTicket> there;
    if (is_lead && ticket && !ticket->over && ticket->seat == seat) there = ticket->there;
    const std::int64_t version = view.seats[seat].read->config.version;
    const Stamp least = nodes_[seat]->exact() ? attempt->tag.proposal : floor;
    nodes_[seat]->ask(attempt->by, Urgency::usual, even_if_down,
                      [this, attempt, seat, is_lead, there, version, least, will_wait,
                       ends_with_process](const Result<Backend*>& store) -> Node::Trouble {
                        Result<AcquireOutcome> outcome = Error{};
                        if (store) {
                          AcquireRequest part;
                          part.set = &attempt->set;
                          part.permits = attempt->permits;
                          part.config_version = version;
                          // Names that each node kept for other waiters would be kept from
                          // everybody.
                          part.max_overtakes = unlimited_overtakes;
                          part.token = attempt->tag.token;
                          part.owner = &attempt->owner;
                          part.lease = attempt->lease;
                          part.min_stamp = least;
                          part.will_wait = will_wait && is_lead;
                          part.ticket = there;
                          part.ends_with_process = ends_with_process;
                          part.by = attempt->by;
                          outcome = (*store)->try_acquire(part);
                          if (outcome && std::holds_alternative<Stale>(*outcome)) {
                            const Result<NodeConfig> read = read_config(seat, **store, attempt->by);
                            if (!read) outcome = read.error();
                          }
                        } else {
                          outcome = store.error();
                        }
                        Node::Trouble trouble;
                        if (!outcome) trouble = outcome.error();
                        std::unique_lock lock(attempt->mutex);
                        if (attempt->decided) {
                          lock.unlock();
                          late(*attempt, seat, std::move(outcome));
                        } else {
                          attempt->answers[seat] = {std::move(outcome), BootClock::now()};
                          attempt->changed.notify_all();
                        }
                        return trouble;
                      });
  }
}

// A part that came after the decision belongs to the hold, if there is one.
void QuorumBackend::late(Attempt& attempt, std::size_t seat, Result<AcquireOutcome> outcome) {
  if (!outcome) {
    if (outcome.error().may_have_applied()) tidy(seat, attempt.part({}), attempt.until);
    return;
  }
  if (Busy* busy = std::get_if<Busy>(&*outcome)) {
    if (busy->ticket) nodes_[seat]->opened()->end_wait(*busy->ticket, attempt.by);
    return;
  }
  const Grant* grant = std::get_if<Grant>(&*outcome);
  if (grant == nullptr) return;
  Stamp whole;
  std::optional<Stamp> level;
  {
    const std::lock_guard lock(attempt.mutex);
    whole = attempt.granted;
    level = attempt.level;
  }
  const Part part{.stamp = grant->stamp,
                  .store_time_us = grant->store_time_us,
                  .until = later(BootClock::now(), grant->lease)};
  const bool kept = whole && (!level || grant->stamp < *level) && book_.add_part(whole, seat, part);
  if (!kept) tidy(seat, attempt.part(grant->stamp, grant->store_time_us), part.until);
}

std::size_t QuorumBackend::raise(const Attempt& attempt, const View& view, const Seats& seats,
                                 Stamp level, std::size_t wanted) {
  // Not by asking for the part again: in between, the node would be free for others, and the order
  // of the stamps would be lost. A hold on a name of its own draws a stamp as well.
  const auto alone = std::make_shared<const LockSet>(
      *LockSet::make({write("@quorum:" + attempt.tag.token.hex())}, LockSet::Names::reserved_too));
  std::vector<std::int64_t> versions;
  for (const View::Seat& seat : view.seats)
    versions.push_back(seat.read ? seat.read->config.version : 0);
  const auto owner = std::make_shared<const Owner>(attempt.plain_owner);
  const TimePoint by = attempt.by;
  const Duration lease = std::min(raise_lease, attempt.lease);
  const auto gather =
      ask<Grant>(seats, by, Urgency::usual,
                 [this, alone, owner, versions, level, by, lease](std::size_t seat,
                                                                  Backend& store) -> Result<Grant> {
                   const std::uint32_t permits[] = {1};
                   AcquireRequest request;
                   request.set = alone.get();
                   request.permits = permits;
                   request.config_version = versions[seat];
                   request.max_overtakes = unlimited_overtakes;
                   request.token = Token::random();
                   request.owner = owner.get();
                   request.lease = lease;
                   request.min_stamp = level;
                   request.by = by;
                   Result<AcquireOutcome> outcome = store.try_acquire(request);
                   if (!outcome) {
                     if (outcome.error().may_have_applied()) {
                       tidy(seat, {*alone, *owner, request.token, {}, 0},
                            later(later(by, lease), milliseconds(500)));
                     }
                     return std::move(outcome).error();
                   }
                   Grant* const grant = std::get_if<Grant>(&*outcome);
                   if (grant == nullptr)
                     return Error{Errc::unavailable, "its configuration was changed"};
                   tidy(seat, {*alone, *owner, request.token, grant->stamp, grant->store_time_us},
                        later(BootClock::now(), lease));
                   return std::move(*grant);
                 });
  const auto answers = gather->wait(
      by, [&](const Gather<Grant>::Answers& so_far) { return good_ones<Grant>(so_far) >= wanted; });
  return good_ones<Grant>(answers);
}

Result<AcquireOutcome> QuorumBackend::granted(Attempt& attempt, const AcquireRequest& request,
                                              Stamp whole) {
  Held held{
      .tag = attempt.tag, .app = attempt.owner.app, .parts = std::vector<Part>(nodes_.size())};
  std::vector<Duration> leases;
  std::vector<QuorumTime::Reading> readings;
  Grant result;
  result.stamp = whole;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    const Attempt::Answer& answer = attempt.answers[seat];  // nobody changes them any more
    if (const Grant* grant = grant_in(answer.outcome)) {
      if (attempt.level && grant->stamp > *attempt.level) {
        tidy(seat, attempt.part(grant->stamp, grant->store_time_us), attempt.until);
        continue;
      }
      held.parts[seat] = {.stamp = grant->stamp,
                          .store_time_us = grant->store_time_us,
                          .until = later(answer.at, grant->lease)};
      leases.push_back(grant->lease);
      readings.push_back({seat, grant->store_time_us, answer.at});
      result.collisions += grant->collisions;
    } else if (const Busy* busy = busy_in(answer.outcome)) {
      if (busy->ticket) {
        Ticket ticket;
        ticket.seat = seat;
        ticket.there = busy->ticket;
        end_wait(ticket, request.by);
      }
    } else if (answer.outcome && !answer.outcome->ok() &&
               answer.outcome->error().may_have_applied()) {
      tidy(seat, attempt.part({}), attempt.until);
    }
  }
  if (const auto ticket = std::dynamic_pointer_cast<Ticket>(request.ticket)) {
    // The node at which it waited ended that when it granted its part, or was told to just now.
    ticket->over = true;
  }
  // Counted from the moment at which the core asked, which was before any node granted.
  std::sort(leases.begin(), leases.end(), std::greater<>());
  result.lease = leases[majority() - 1];
  result.store_time_us = time_.shown(readings);
  {
    const std::lock_guard lock(mutex_);
    names_.insert_or_assign(attempt.tag.token, Name{whole, true});
  }
  book_.note(whole, std::move(held));
  book_.note_attempt(
      request.token,
      {.token = attempt.tag.token, .granted = whole, .until = later(attempt.until, doubts_last)});
  const std::lock_guard lock(attempt.mutex);
  attempt.granted = whole;
  return AcquireOutcome(std::move(result));
}

std::size_t QuorumBackend::give_back(Attempt& attempt, TimePoint by) {
  Seats parts(nodes_.size(), false);
  std::vector<Stamp> stamps(nodes_.size());
  std::size_t left = 0;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!attempt.asked[seat]) continue;
    const auto& outcome = attempt.answers[seat].outcome;
    if (!outcome) {
      ++left;  // late() gives it back
    } else if (const Grant* grant = grant_in(outcome)) {
      parts[seat] = true;
      stamps[seat] = grant->stamp;
    } else if (!outcome->ok() && outcome->error().may_have_applied()) {
      ++left;
      tidy(seat, attempt.part({}), attempt.until);
    }
  }
  // What its own work finds not to be confirmed goes to the caretaker, even after this call.
  const auto hold = std::make_shared<const KnownHold>(attempt.part({}));
  const TimePoint until = attempt.until;
  const auto gather =
      ask<bool>(parts, by, Urgency::usual, [by, hold, stamps](std::size_t seat, Backend& store) {
        HoldRef part = hold->ref();
        part.stamp = stamps[seat];
        return store.release(part, hold->owner.app, by);
      });
  const auto answers = gather->wait(by, [&](const Gather<bool>::Answers&) { return false; });
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!parts[seat] || (answers[seat] && answers[seat]->ok())) continue;
    ++left;
    tidy(seat, attempt.part(stamps[seat]), until);
  }
  return left;
}

// No majority granted the set.
std::pair<Result<AcquireOutcome>, QuorumBackend::Split> QuorumBackend::refused(
    const std::shared_ptr<Attempt>& attempt, const AcquireRequest& request, const View& view,
    std::optional<std::size_t> lead, int round) {
  const Attempt::Count count = attempt->count();
  const std::size_t needed = majority();
  const std::size_t left = give_back(*attempt, request.by);
  const auto before = std::dynamic_pointer_cast<Ticket>(request.ticket);
  const Busy* const at_lead = lead ? busy_in(attempt->answers[*lead].outcome) : nullptr;
  const bool lead_granted = lead && grant_in(attempt->answers[*lead].outcome) != nullptr;
  if (before && lead_granted) before->over = true;

  const bool decisive = count.granted + count.busy + count.stale >= needed;
  if (decisive && count.granted + count.stale >= needed) {
    // Perhaps it is free, by a configuration that is known by now.
    return {AcquireOutcome(Stale{}), Split::no};
  }
  if (!decisive || count.busy == 0) {
    Gather<AcquireOutcome>::Answers answers(nodes_.size());
    for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
      answers[seat] = attempt->answers[seat].outcome;
      if (!attempt->asked[seat])
        answers[seat] = Result<AcquireOutcome>(Error{
            Errc::misconfigured,
            view.seats[seat].trouble.empty() ? "it was not read yet" : view.seats[seat].trouble});
    }
    Error error = no_majority<AcquireOutcome>(answers);
    if (left >= needed) {
      error.code = Errc::indeterminate;
      book_.note_attempt(request.token, {.token = attempt->tag.token,
                                         .granted = {},
                                         .until = later(attempt->until, doubts_last)});
    }
    return {std::move(error), Split::no};
  }

  Busy busy;
  // When so many nodes may be free that they are a majority.
  std::vector<Duration> ends(count.granted, Duration::zero());
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    const Busy* const here = busy_in(attempt->answers[seat].outcome);
    if (here == nullptr) continue;
    if (busy.name.empty() || here == at_lead) {
      busy.name = here->name;
      busy.mode = here->mode;
      busy.holder_label = here->holder_label;
    }
    if (here->retry_after) ends.push_back(*here->retry_after);
    busy.collisions += here->collisions;
  }
  std::sort(ends.begin(), ends.end());
  if (ends.size() > count.granted) busy.retry_after = ends[std::min(needed, ends.size()) - 1];
  const Stamp part_in_way = at_lead != nullptr ? at_lead->holder : Stamp{};
  if (before && part_in_way && before->part_in_way == part_in_way) {
    busy.holder = before->holder;
    busy.holder_label = before->holder_label;
  } else {
    Result<Inspection> there =
        show({InspectQuery::Match::name, busy.name}, request.by, Patience::for_most);
    const HoldInfo* in_way = nullptr;
    if (there) {
      for (const HoldInfo& hold : there->holds) {
        if (in_way == nullptr || hold.stamp < in_way->stamp) in_way = &hold;
      }
    }
    if (in_way != nullptr) {
      busy.holder = in_way->stamp;
      busy.holder_label = in_way->owner.label;
      for (const LockRequest& item : in_way->items) {
        if (item.name == busy.name) busy.mode = item.mode;
      }
    } else {
      // Nobody has a majority.
      const bool again = there && round + 1 < most_rounds && BootClock::now() < request.by;
      if (again) {
        if (at_lead != nullptr && at_lead->ticket) {
          Ticket passing;
          passing.seat = *lead;
          passing.there = at_lead->ticket;
          end_wait(passing, request.by);
          if (before) before->over = true;
        }
        return {AcquireOutcome(Stale{}), Split::yes};
      }
    }
  }
  if (request.will_wait) {
    auto ticket = std::make_shared<Ticket>();
    ticket->seat = lead.value_or(0);
    if (at_lead != nullptr) ticket->there = at_lead->ticket;
    ticket->part_in_way = part_in_way;
    ticket->holder = busy.holder;
    ticket->holder_label = busy.holder_label;
    busy.ticket = std::move(ticket);
  }
  return {AcquireOutcome(std::move(busy)), Split::no};
}

Result<std::optional<Grant>> QuorumBackend::resolve(const HoldRef& attempt, TimePoint by) {
  const std::optional<Book::Attempt> known = book_.attempt(attempt.token);
  if (known && !known->granted) return std::optional<Grant>();
  const std::optional<Held> held = known ? book_.find(known->granted) : std::nullopt;
  if (known && !held) return std::optional<Grant>();
  if (!known) {
    // Of another process. The tag of its parts tells what the stamp is.
    const InspectQuery query =
        attempt.set != nullptr
            ? InspectQuery{InspectQuery::Match::name, attempt.set->items().front().name}
            : InspectQuery{};
    return look_for_attempt(attempt.token, query, by);
  }
  Seats seats(nodes_.size(), false);
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) seats[seat] = held->parts[seat].live();
  const Token token = known->token;
  const auto gather = ask<std::optional<Grant>>(
      seats, by, Urgency::usual,
      [token, by](std::size_t, Backend& store) { return store.resolve(HoldRef(token), by); });
  const auto found = [](const Gather<std::optional<Grant>>::Answers& answers) {
    return static_cast<std::size_t>(
        std::count_if(answers.begin(), answers.end(),
                      [](const auto& each) { return each && each->ok() && each->value(); }));
  };
  const auto answers = gather->wait(by, [&](const Gather<std::optional<Grant>>::Answers& so_far) {
    return found(so_far) >= majority();
  });
  if (found(answers) < majority()) {
    const std::size_t parts =
        static_cast<std::size_t>(std::count(seats.begin(), seats.end(), true));
    const std::size_t gone = good_ones<std::optional<Grant>>(answers) - found(answers);
    if (parts - gone < majority()) return std::optional<Grant>();
    return no_majority<std::optional<Grant>>(answers);
  }
  Grant grant;
  grant.stamp = known->granted;
  std::vector<Duration> leases;
  std::vector<QuorumTime::Reading> readings;
  for (std::size_t seat = 0; seat < nodes_.size(); ++seat) {
    if (!answers[seat] || !answers[seat]->ok() || !answers[seat]->value()) continue;
    const Grant& part = *answers[seat]->value();
    leases.push_back(part.lease);
    readings.push_back({seat, part.store_time_us, BootClock::now()});
  }
  std::sort(leases.begin(), leases.end(), std::greater<>());
  grant.lease = leases[majority() - 1];
  grant.store_time_us = time_.shown(readings);
  return std::optional(std::move(grant));
}

}  // namespace lockset::quorum
