#include "tests/simulation/remote.h"

#include <string>
#include <utility>
#include <vector>

#include "backends/conversion.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

constexpr Duration usual_travel = 1ms;

Error unavailable() { return {Errc::unavailable, "refused"}; }
Error indeterminate() { return {Errc::indeterminate, "no answer"}; }

}  // namespace

// A request under way.
template <class Reply>
struct Remote::Open {
  std::function<Result<Reply>(Backend&)> ask;
  std::optional<Result<Reply>> reply;
  Fiber* waiting = nullptr;  // null: nobody waits for the answer any more
  bool asked = false;        // the request reached the store
  bool old = false;          // and it was the demoted store
  bool twice = false;        // it reaches the store twice at once
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
  return chance(usual, 1, profile.least_travel, profile.most_travel).value_or(usual_travel);
}

template <class Reply>
void Remote::send(const std::shared_ptr<Open<Reply>>& open, Duration travel_time, Network network) {
  world_.after(travel_time, [&line = line_, open, network] {
    if (open->waiting == nullptr) ++line.world.counts["requests that came when nobody waited"];
    const bool again = std::exchange(open->asked, true);
    // A repeated request reaches the same store.
    if (!again) open->old = line.store.reaches_demoted(line.process);
    // A server that is down resets the connection.
    std::optional<Result<Reply>> result;
    if (line.store.down()) {
      result.emplace(indeterminate());
    } else {
      const bool unheard = open->waiting == nullptr;
      result.emplace(open->ask(line.store.serve(&line.process, again, unheard, open->old)));
      if (open->twice) {
        static_cast<void>(
            open->ask(line.store.serve(&line.process, again, unheard, open->old)).ok());
      }
    }
    // The answer to the first delivery counts.
    if (again) return;
    if (const auto how = line.chance(Kind::lose_reply, line.profile.loss, {}, 1ns)) {
      ++line.world.counts["replies lost"];
      if (how->count() == 0) return;
      result.emplace(indeterminate());  // the connection was cut, and that is noticed
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
  if (&world_.current()->process() != &process_) {
    world_.complain("a child is not its parent",
                    world_.current()->process().name + " uses the connection of " + process_.name);
    return unavailable();
  }
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

Result<AcquireOutcome> Remote::try_acquire(const AcquireRequest& asked) {
  struct Copy {
    LockSet set;
    std::vector<std::uint32_t> permits;
    std::vector<Expected> condition;
    Owner owner;
    HoldRef replaced;
    AcquireRequest request;
  };
  auto copy =
      std::make_shared<Copy>(Copy{*asked.set,
                                  {asked.permits.begin(), asked.permits.end()},
                                  {asked.unchanged_since.begin(), asked.unchanged_since.end()},
                                  *asked.owner,
                                  asked.replaces != nullptr ? asked.replaces->stamp : Stamp(),
                                  asked});
  copy->request.set = &copy->set;
  copy->request.permits = copy->permits;
  copy->request.unchanged_since = copy->condition;
  copy->request.owner = &copy->owner;
  if (asked.replaces != nullptr) copy->request.replaces = &copy->replaced;
  // A downgrade that was refused must not come once more later: its holder relies on its write.
  const Network network =
      asked.replaces != nullptr && is_downgrade(asked) ? Network::prompt : Network::any;
  const auto before = std::static_pointer_cast<Ticket>(asked.ticket);
  const auto ticket = asked.will_wait ? std::make_shared<Ticket>(process_.actor) : nullptr;

  return call<AcquireOutcome>(
      asked.by,
      [&line = line_, copy, before, ticket](Backend& front) {
        copy->request.ticket = before && before->at == &front ? before->place : nullptr;
        Result<AcquireOutcome> found = front.try_acquire(copy->request);
        Busy* const busy = found ? std::get_if<Busy>(&*found) : nullptr;
        if (busy != nullptr && ticket) {
          ticket->place = std::exchange(busy->ticket, ticket);
          ticket->at = &front;
          if (line.profile.traits.push_wakeup) line.store.listen(ticket);
        }
        return found;
      },
      network);
}

void Remote::end_wait(WaitTicket& ticket, TimePoint by) {
  const auto& mine = static_cast<Ticket&>(ticket);
  static_cast<void>(call<bool>(by, [place = mine.place, at = mine.at](Backend& front) {
                      if (at == &front) front.end_wait(*place, TimePoint::max());
                      return true;
                    }).ok());
}

Result<std::optional<Grant>> Remote::resolve(const HoldRef& attempt, TimePoint by) {
  return call<std::optional<Grant>>(by, [token = attempt.token](Backend& store) {
    return store.resolve(token, TimePoint::max());
  });
}

Result<RenewReply> Remote::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                 TimePoint by) {
  std::vector<RenewRequest> copy(requests.begin(), requests.end());
  for (RenewRequest& each : copy) each.hold = each.hold.stamp;  // the rest is the caller's
  return call<RenewReply>(
      by, [owner, copy](Backend& store) { return store.renew(owner, copy, TimePoint::max()); },
      Network::prompt);
}

Result<bool> Remote::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return call<bool>(by, [stamp = hold.stamp, app = std::string(app)](Backend& store) {
    return store.release(stamp, app, TimePoint::max());
  });
}

Result<bool> Remote::break_hold(const HoldRef& hold, TimePoint by) {
  return call<bool>(by, [stamp = hold.stamp](Backend& store) {
    return store.break_hold(stamp, TimePoint::max());
  });
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
  // These may come late: a compare-and-set, and changes that only raise a value.
  const auto* const phase = std::get_if<SetMigrationPhase>(&change);
  const bool harmless = (phase != nullptr && phase->only_at_version) ||
                        std::holds_alternative<RaiseStampBase>(change);
  return call<SpaceConfig>(
      by, [change](Backend& store) { return store.change_config(change, TimePoint::max()); },
      harmless ? Network::any : Network::orderly);
}

Result<std::size_t> Remote::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  return call<std::size_t>(by, [app = std::string(app), epoch](Backend& store) {
    return store.reclaim(app, epoch, TimePoint::max());
  });
}

Result<ObserveOutcome> Remote::observe(const ObserveRequest& request) {
  return call<ObserveOutcome>(
      request.by, [names = std::vector<std::string>(request.names.begin(), request.names.end()),
                   version = request.config_version](Backend& store) {
        return store.observe({names, version, TimePoint::max()});
      });
}

Result<std::size_t> Remote::sweep_traces(Duration unobserved, TimePoint by) {
  return call<std::size_t>(by, [unobserved](Backend& store) {
    return store.sweep_traces(unobserved, TimePoint::max());
  });
}

Result<std::size_t> Remote::sweep(TimePoint by) {
  return call<std::size_t>(by, [](Backend& store) { return store.sweep(TimePoint::max()); });
}

}  // namespace lockset::simulation
