#include "tests/simulation/remote.h"

#include <algorithm>
#include <utility>

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

constexpr Duration usual_travel = 1ms;

Error unavailable() { return {Errc::unavailable, "refused"}; }
Error indeterminate() { return {Errc::indeterminate, "no answer"}; }

}  // namespace

TimePoint promise(TimePoint sent, Duration lease) {
  if (lease == Duration::max()) return TimePoint::max();
  return sent + lease - std::clamp<Duration>(lease / 10, 50ms, 2s);
}

// A question under way.
template <class Reply>
struct Remote::Open {
  std::function<Result<Reply>(Backend&)> ask;
  std::optional<Result<Reply>> reply;
  Fiber* waiting = nullptr;  // null: nobody waits for it any more
  bool asked = false;        // the store was
  bool twice = false;        // it is asked twice at once
};

std::optional<Duration> Line::chance(Kind kind, double share, Duration least, Duration most) {
  if (world.calm() || process.dead) return {};
  const auto value = world.schedule().draw(kind, process.actor, share, least.count(), most.count());
  return value ? std::optional(Duration(*value)) : std::nullopt;
}

Duration Line::travel(Kind usual, Kind slow, Network network) {
  if (network != Network::orderly) {
    if (const auto late = chance(slow, profile.slow, {}, profile.slowest)) {
      ++world.counts["slow messages"];
      return *late;
    }
  }
  return chance(usual, 1, 100us, 20ms).value_or(usual_travel);
}

template <class Reply>
void Remote::send(const std::shared_ptr<Open<Reply>>& open, Duration travel_time, Network network) {
  world_.after(travel_time, [&line = line_, open, network] {
    if (open->waiting == nullptr) ++line.world.counts["requests that came when nobody waited"];
    const bool again = std::exchange(open->asked, true);
    // A server that is down resets the connection.
    std::optional<Result<Reply>> result;
    if (line.store.down()) {
      result.emplace(indeterminate());
    } else {
      const bool unheard = open->waiting == nullptr;
      result.emplace(open->ask(line.store.serve(&line.process, again, unheard)));
      if (open->twice) {
        static_cast<void>(open->ask(line.store.serve(&line.process, again, unheard)).ok());
      }
    }
    // The answer to what came twice is that to what came first.
    if (again) return;
    if (const auto how = line.chance(Kind::lose_reply, line.profile.loss, {}, 1ns)) {
      ++line.world.counts["replies lost"];
      if (how->count() == 0) return;
      result.emplace(indeterminate());  // the connection was cut, and it is seen
    }
    line.world.after(line.travel(Kind::reply, Kind::slow_reply, network),
                     [&line, open, result = std::move(*result)] {
                       if (open->waiting == nullptr || open->reply) return;
                       open->reply = result;
                       line.world.wake(*open->waiting);
                     });
  });
}

template <class Reply>
Result<Reply> Remote::call(TimePoint by, std::function<Result<Reply>(Backend&)> ask,
                           Network network) {
  if (process_.dead) return unavailable();
  if (world_.now() >= by) {
    ++process_.troubles;
    return Error{Errc::unavailable, "no time left"};
  }
  Fiber& self = *world_.current();
  if (line_.store.down() || line_.chance(Kind::refuse, line_.profile.refusal)) {
    ++process_.troubles;
    ++world_.counts["connections refused"];
    world_.wait(world_.now() + 1ms);
    return unavailable();
  }
  if (const auto delay = line_.chance(Kind::crash, line_.profile.crashes, {}, 50ms)) {
    world_.after(*delay, [&line = line_] { line.world.kill(line.process); });
  }
  auto open = std::make_shared<Open<Reply>>(std::move(ask), std::nullopt, &self);
  const Duration request = line_.travel(Kind::request, Kind::slow_request, network);
  if (const auto how = line_.chance(Kind::lose_request, line_.profile.loss, {}, 1ns)) {
    ++world_.counts["requests lost"];
    if (how->count() != 0) {
      world_.after(request, [&world = world_, open] {
        if (open->waiting == nullptr || open->reply) return;
        open->reply.emplace(indeterminate());
        world.wake(*open->waiting);
      });
    }
  } else {
    send(open, request, network);
  }
  if (network == Network::prompt) {
    open->twice = line_.chance(Kind::repeat, line_.profile.repeat).has_value();
  } else if (network == Network::any) {
    if (const auto again =
            line_.chance(Kind::repeat, line_.profile.repeat, {}, line_.profile.slowest)) {
      ++world_.counts["requests repeated"];
      send(open, *again, network);
    }
  }
  {
    const std::stop_callback killed(process_.killed.get_token(), [&] { world_.wake(self); });
    while (!open->reply && !process_.dead && world_.now() < by) world_.wait(by);
  }
  open->waiting = nullptr;
  if (open->reply && !process_.dead) {
    if (!*open->reply) ++process_.troubles;
    return std::move(*open->reply);
  }
  ++process_.troubles;
  return indeterminate();
}

void Remote::promised(Stamp stamp, TimePoint sent, Duration lease) {
  TimePoint& until = told_.promised[stamp];
  until = std::max(until, promise(sent, lease));
}

Result<AcquireOutcome> Remote::try_acquire(const AcquireRequest& asked) {
  struct Copy {
    LockSet set;
    std::vector<std::uint32_t> permits;
    Owner owner;
    AcquireRequest request;
  };
  auto copy = std::make_shared<Copy>(
      Copy{*asked.set, {asked.permits.begin(), asked.permits.end()}, *asked.owner, asked});
  copy->request.set = &copy->set;
  copy->request.permits = copy->permits;
  copy->request.owner = &copy->owner;
  copy->request.will_wait = false;
  copy->request.ticket.reset();
  const auto ticket = asked.will_wait && line_.profile.traits.push_wakeup
                          ? std::make_shared<Ticket>(process_.actor)
                          : nullptr;

  const TimePoint sent = world_.now();
  Result<AcquireOutcome> outcome =
      call<AcquireOutcome>(asked.by, [&store = line_.store, copy, ticket](Backend& front) {
        Result<AcquireOutcome> found = front.try_acquire(copy->request);
        if (Busy* busy = std::get_if<Busy>(&*found); busy && ticket) {
          busy->ticket = ticket;
          store.listen(ticket);
        }
        return found;
      });
  const bool app = asked.set->items().front().name.starts_with("@app:");
  if (app) told_.app_token = asked.token;
  Fiber* const self = world_.current();
  if (!outcome) {
    if (outcome.error().may_have_applied()) {
      ++world_.counts["attempts in doubt"];
      told_.attempts[self].push_back({sent, world_.now(), {}});
    }
  } else if (const Grant* grant = std::get_if<Grant>(&*outcome)) {
    told_.attempts[self].push_back({sent, world_.now(), grant->stamp});
    promised(grant->stamp, sent, grant->lease);
    // Too late to be of use is trouble, too.
    if (promise(sent, grant->lease) <= world_.now()) ++process_.troubles;
    if (app) told_.app = grant->stamp;
  } else if (const Busy* busy = std::get_if<Busy>(&*outcome)) {
    told_.busy[self] = *busy;
  }
  return outcome;
}

Result<std::optional<Grant>> Remote::resolve(const Token& token, TimePoint by) {
  const TimePoint sent = world_.now();
  auto found = call<std::optional<Grant>>(
      by, [token](Backend& store) { return store.resolve(token, TimePoint::max()); });
  if (found && *found) {
    ++world_.counts["doubts resolved to a grant"];
    promised((*found)->stamp, sent, (*found)->lease);
    if (promise(sent, (*found)->lease) <= world_.now()) ++process_.troubles;
    told_.attempts[world_.current()].push_back({sent, world_.now(), (*found)->stamp});
    if (token == told_.app_token) told_.app = (*found)->stamp;
  }
  return found;
}

Result<RenewReply> Remote::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                 TimePoint by) {
  std::vector<RenewRequest> copy(requests.begin(), requests.end());
  const bool by_renewer = requests.front().set != nullptr;
  for (RenewRequest& each : copy) {
    each.set = nullptr;
    world_.record(process_, history::Renew{each.stamp});
    // One pass of the renewer may have begun before the end. (Who renews by stamp wants it so.)
    const auto over = told_.over.find(each.stamp);
    if (by_renewer && over != told_.over.end() && ++over->second > 1) {
      world_.complain("renewal after the end",
                      "stamp " + std::to_string(each.stamp.value) + " is renewed by " +
                          process_.name + " again and again after it was lost or released");
    }
  }
  const TimePoint sent = world_.now();
  Result<RenewReply> reply = call<RenewReply>(
      by, [owner, copy](Backend& store) { return store.renew(owner, copy, TimePoint::max()); },
      Network::prompt);
  for (std::size_t i = 0; i < copy.size(); ++i) {
    const Stamp stamp = copy[i].stamp;
    if (!reply) {
      world_.record(process_, history::RenewUnknown{stamp});
    } else if (const auto& renewal = reply->renewals[i]) {
      ++world_.counts["renewals"];
      // What had ended before this was heard is lost, and stays so.
      const auto before = told_.promised.find(stamp);
      const bool lost = before != told_.promised.end() && before->second < world_.now();
      if (!lost || stamp != told_.app) promised(stamp, sent, renewal->lease);
      if (!lost && stamp == told_.app) app_renewed(sent);
      const TimePoint until =
          told_.app ? std::min(promise(sent, renewal->lease), told_.promised[told_.app])
                    : promise(sent, renewal->lease);
      world_.record(process_, history::Renewed{stamp, until});
    } else {
      world_.record(process_, history::NotRenewed{stamp});
      told_.gone.insert(stamp);
    }
  }
  // Only what the renewer hears is compared with its clock.
  if (reply && by_renewer) {
    if (world_.now() < line_.store.stepped()) {
      told_.renewed_before_step = true;
    } else if (sent > line_.store.stepped() && line_.store.stepped() != TimePoint::max()) {
      told_.renewed_after_step = told_.renewed_before_step;
    }
  }
  return reply;
}

// What ends with the application's hold lasts longer now, too.
void Remote::app_renewed(TimePoint sent) {
  if (process_.dead) return;
  std::vector<history::Event>& log = world_.history[process_.log].events;
  for (const Stamp stamp : told_.known) {
    if (told_.over.contains(stamp) || !line_.store.live(stamp)) continue;
    log.push_back({sent, history::Renew{stamp}});
    log.push_back({world_.now(), history::Renewed{stamp, told_.until(stamp)}});
  }
}

Result<bool> Remote::release(Stamp stamp, std::string_view app, TimePoint by) {
  told_.given_back.insert(stamp);
  Result<bool> done = call<bool>(by, [stamp, app = std::string(app)](Backend& store) {
    return store.release(stamp, app, TimePoint::max());
  });
  if (done) told_.gone.insert(stamp);
  return done;
}

Result<bool> Remote::break_hold(Stamp stamp, TimePoint by) {
  return call<bool>(by,
                    [stamp](Backend& store) { return store.break_hold(stamp, TimePoint::max()); });
}

Status Remote::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  if (!line_.profile.traits.push_wakeup) return Error{Errc::unsupported, "no wake-ups"};
  auto& mine = static_cast<Ticket&>(ticket);
  Fiber& self = *world_.current();
  mine.waiting = &self;
  const std::stop_callback woken(stop, [&] { world_.wake(self); });
  while (!mine.changed && !stop.stop_requested() && world_.now() < until) world_.wait(until);
  mine.waiting = nullptr;
  if (mine.changed) ++world_.counts["wake-ups"];
  return {};
}

Result<Inspection> Remote::inspect(const InspectQuery& query, TimePoint by) {
  return call<Inspection>(
      by, [query](Backend& store) { return store.inspect(query, TimePoint::max()); });
}

Result<SpaceConfig> Remote::load_config(TimePoint by) {
  return call<SpaceConfig>(by, [](Backend& store) { return store.load_config(TimePoint::max()); });
}

Result<SpaceConfig> Remote::change_config(const ConfigChange& change, TimePoint by) {
  return call<SpaceConfig>(
      by, [change](Backend& store) { return store.change_config(change, TimePoint::max()); },
      Network::orderly);
}

Result<std::size_t> Remote::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  return call<std::size_t>(by, [app = std::string(app), epoch](Backend& store) {
    return store.reclaim(app, epoch, TimePoint::max());
  });
}

Result<std::size_t> Remote::sweep(TimePoint by) {
  return call<std::size_t>(by, [](Backend& store) { return store.sweep(TimePoint::max()); });
}

}  // namespace lockset::simulation
