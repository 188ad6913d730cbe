#include "tests/simulation/round.h"

#include <algorithm>
#include <utility>

#include "core/machine.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

Client::Round::Round(Client& client, Locks& locks, std::uint64_t chance)
    : client_(client),
      world_(client.world_),
      told_(client.told_),
      locks_(locks),
      random_(chance),
      optimist_(chance ^ 0xBB67AE8584CAA73B),
      converter_(chance ^ 0xA54FF53A5F1D36F1) {}

void Client::Round::run() {
  client_.sleep(random_.between(0ms, client_.profile_.rest));
  if (one_in(25) && client_.profile_.breaks) break_somebody();
  choose();
  if (client_.process_.dead) return;
  const bool optimistic = client_.profile_.observes && optimist_.below(2) == 0;
  if (optimistic) observe();
  acquire();
  if (stamp_) {
    granted();
    hold();
    let_go();
  }
  if (seen_ && optimist_.below(2) == 0) validate();
}

void Client::Round::choose() {
  for (const char* const name : {"a", "b", "c", "d"}) {
    if (wanted_.size() < 3 && one_in(3)) {
      wanted_.push_back({name, one_in(2) ? Mode::read : Mode::write});
    }
  }
  if (wanted_.empty()) wanted_.push_back(write("a"));
  const bool long_lease = one_in(12) && client_.profile_.long_leases;
  lease_ = long_lease ? 40s : random_.between(1s, 3s);
  if (one_in(40) && client_.profile_.long_leases) lease_ = no_lease;
  wait_ = one_in(3) ? 0ms : random_.between(100ms, 5s);
  plain_ = one_in(5);
}

void Client::Round::acquire() {
  // A permanent hold is confirmed within the first, finite lease.
  history::Ask ask{++client_.process_.ops, {}, lease_, wait_ + (lease_ == no_lease ? 30s : 0s)};
  for (const LockRequest& item : wanted_) ask.set.push_back({item.name, item.mode, 0});
  op_ = ask.op;
  asked_ = world_.now();
  troubles_ = client_.process_.troubles;
  highest_ = told_.highest;
  record(std::move(ask));
  if (on_condition_) record(history::Condition{op_, seen_->op});
  told_.attempts.erase(world_.current());
  ++world_.counts["acquires"];

  AcquireOptions options;
  options.wait = wait_;
  options.lease = lease_;
  if (on_condition_) options.unchanged_since = seen_->observation;
  auto given_up = std::make_shared<std::stop_source>();
  options.stop = given_up->get_token();
  const std::stop_callback killed(client_.process_.killed.get_token(),
                                  [&] { given_up->request_stop(); });
  if (wait_ > 0ms && one_in(15)) {
    world_.after(random_.between(0ms, wait_), [given_up] { given_up->request_stop(); });
  }

  std::optional<Error> error;
  const auto note = [&](auto result) {
    if (!result.ok()) {
      error = std::move(result).error();
    } else if constexpr (requires { result->stamp(); }) {
      hold_ = std::move(*result);
      stamp_ = hold_.stamp();
    } else if constexpr (requires { result->has_value(); }) {
      if (*result) hold_ = std::move(**result);
      stamp_ = hold_.stamp();
    } else {
      stamp_ = *result;
    }
  };
  TryOptions tried;
  tried.lease = lease_;
  tried.unchanged_since = options.unchanged_since;
  if (plain_) {
    note(wait_ == 0ms ? locks_.try_locks(wanted_, tried) : locks_.acquire_locks(wanted_, options));
  } else if (wait_ == 0ms) {
    note(locks_.try_acquire(wanted_, tried));
  } else {
    note(locks_.acquire(wanted_, options));
  }
  if (error && error->code == Errc::changed) check_not_own(told_.attempts[world_.current()]);
  note_attempts(stamp_);
  if (stamp_) return;
  if (error) {
    not_granted(*error);
    return;
  }
  const Busy& busy = told_.busy[world_.current()];
  record(history::Busy{op_, busy.name, busy.holder});
  ++world_.counts["busy"];
}

// Records everything else that was taken, or may have been: each is an acquire of unknown outcome.
void Client::Round::note_attempts(Stamp except) {
  for (const Told::Attempt& each : std::exchange(told_.attempts[world_.current()], {})) {
    if (each.stamp && each.stamp == except) continue;
    if (client_.process_.dead) continue;
    if (each.stamp && !told_.given_back.contains(each.stamp)) {
      client_.complain("what comes too late is given back", each.stamp,
                       "it was granted, and neither handed over nor released");
    }
    // A permanent hold begins with a finite lease; but one that takes the place of a permanent one
    // is permanent.
    const bool begins = lease_ == no_lease && !replaced_;
    history::Ask ask{++client_.process_.ops, {}, begins ? default_lease : lease_, 0ns};
    for (const LockRequest& item : wanted_) ask.set.push_back({item.name, item.mode, 0});
    const std::uint64_t op = ask.op;
    std::vector<history::Event>& log = world_.history[client_.process_.log].events;
    log.push_back({each.sent, std::move(ask)});
    if (replaced_) log.push_back({each.sent, history::Replace{op, replaced_}});
    log.push_back({each.answered, history::Unknown{op}});
  }
}

void Client::Round::not_granted(const Error& error) {
  switch (error.code) {
    case Errc::timeout:
      record(history::TimedOut{op_});
      ++world_.counts["timeouts"];
      return;
    case Errc::cancelled:
      record(history::Unknown{op_});
      ++world_.counts["cancelled"];
      return;
    case Errc::changed:
      record(history::Changed{op_, {}});
      ++world_.counts["conditions not met"];
      return;
    case Errc::superseded:
      record(history::Refused{op_});
      ++world_.counts["superseded"];
      return;
    case Errc::indeterminate:
      record(history::Unknown{op_});
      ++world_.counts["indeterminate"];
      break;
    default:
      record(history::Refused{op_});
      ++world_.counts[std::string(to_string(error.code))];
      break;
  }
  // It has to open the space again: it ends, and is started again.
  if (error.code == Errc::rolled_back && client_.reclaims() && !world_.calm()) {
    ++world_.counts["instances that were forgotten"];
    world_.after(10ms, [&world = world_, &process = client_.process_] { world.kill(process); });
  }
  // A hold may be lost before it can be made permanent.
  const bool troubled = client_.process_.troubles != troubles_ || lease_ == no_lease;
  const bool expected =
      (troubled && error.code != Errc::rolled_back) || client_.expects(error, asked_);
  if (!expected && !client_.process_.dead) {
    world_.complain("trouble from nowhere", client_.process_.name + " could not acquire: " +
                                                std::string(to_string(error.code)) + ": " +
                                                error.message);
  }
}

void Client::Round::granted() {
  ++world_.counts["grants"];
  if (on_condition_) ++world_.counts["grants on a condition"];
  told_.known.insert(stamp_);
  client_.truth_.handed_over(stamp_);
  if (!plain_) {
    for (const LockRequest& item : hold_.items()) floors_.push_back(hold_.floor(item.name));
  }
  const TimePoint until = plain_ ? promised() : hold_.valid_until();
  if (until > promised()) {
    client_.complain("validity counts from the request", stamp_,
                     "valid until " + std::to_string((until - promised()) / 1us) +
                         " us later than what was asked when it was asked");
  }
  if (highest_ >= stamp_) {
    client_.complain("no stamp below one seen before", stamp_,
                     "granted after " + std::to_string(highest_.value));
  }
  told_.highest = std::max(told_.highest, stamp_);
  record(history::Granted{op_, stamp_, promised(), floors_});
  const std::stop_token lost = plain_ ? locks_.lost(stamp_) : hold_.lost();
  on_lost_ =
      std::make_unique<std::stop_callback<std::function<void()>>>(lost, [this, stamp = stamp_] {
        record(history::Lost{stamp});
        told_.over.emplace(stamp, 0);
        ++world_.counts["holders told of a loss"];
      });
}

void Client::Round::look_at(Stamp stamp, const std::function<bool()>& valid) {
  const TimePoint asked = world_.now();
  const bool stands = client_.truth_.stands(stamp);
  const bool ended = client_.truth_.ended(stamp);
  const bool answer = valid();
  record(history::Valid{stamp, asked, answer});
  ++world_.counts[answer ? "valid" : "not valid"];
  if (!answer || client_.process_.dead) return;
  if (asked >= told_.until(stamp)) {
    client_.complain("validity ends in time", stamp, "valid() is true after its end");
  }
  // A hold that the store has forgotten is valid as long as it was promised before.
  const bool forgotten = told_.promised_before_loss(stamp, client_.truth_.lost_state(), asked);
  const bool promised_there = client_.profile_.world != Profile::World::stepped;
  if (!stands && !ended && !forgotten && promised_there) {
    client_.complain("what is valid is held", stamp,
                     "valid() is true, and the store has it no more");
  }
}

void Client::Round::use() {
  if (!valid()) return;
  const auto drawn = world_.schedule().draw(Kind::use, client_.process_.actor, 1, 0, 1000);
  // Most uses come at once, some when everything may be over.
  const Duration late = !drawn || *drawn < 700 ? 1ms : Duration(*drawn - 700) * 15'000'000;
  const std::size_t which = random_.below(wanted_.size());
  const std::string name = wanted_[which].name;
  const Stamp floor = plain_ ? stamp_ : hold_.floor(name);
  // Without its floor, a shared hold can't be distinguished from a stale one.
  if (plain_ || client_.process_.dead) return;
  world_.after(late, [&resource = client_.resource_, name, stamp = stamp_, floor] {
    resource.use(name, stamp, floor);
  });
}

// The child has what its parent had at that moment. Here these are the very same objects, so that
// anything that the child did to them would show in the parent, too.
void Client::Round::fork() {
  if (client_.process_.dead) return;
  ++world_.counts["forks"];
  Process& child =
      world_.add_process(client_.process_.name + "-child-" + std::to_string(world_.counts["forks"]),
                         client_.process_.actor);
  world_.join(world_.spawn(child, [this, &child] { be_the_child(child); }));
}

void Client::Round::be_the_child(Process& child) {
  const auto complain = [&](const std::string& why) {
    client_.complain("a child is not its parent", stamp_, child.name + why);
  };
  const auto refused = [&](const char* what, const auto& result) {
    if (result.ok()) complain(std::string(": ") + what + " was done for it");
  };
  if (valid() || hold_.valid() || locks_.valid(stamp_)) complain(": valid() is true in it");
  if (locks_.lost(stamp_).stop_possible()) complain(": is told of its parent's losses");
  if (!plain_) {
    refused("a renewal", hold_.renew());
    refused("a release", hold_.release());
    refused("a detach", hold_.detach());
  }
  refused("a renewal", locks_.renew_locks(stamp_, 1s));
  refused("a release", locks_.release_locks(stamp_));
  refused("an acquire", locks_.try_acquire({write("a")}));
  refused("an acquire", locks_.acquire({write("a")}, {.wait = 1s}));
  refused("an inspection", locks_.inspect());
  refused("a break", locks_.break_hold(stamp_));
  refused("an observation", locks_.observe({"a"}));
  refused("a look at the configuration", locks_.load_config());
}

void Client::Round::hold() {
  const Duration lease = lease_ == no_lease ? 3s : std::min<Duration>(lease_, 3s);
  const Duration longest = client_.profile_.between_looks.value_or(lease / 2);
  const std::uint64_t steps = random_.below(6);
  look();
  for (std::uint64_t i = 0; i < steps && !client_.process_.dead; ++i) {
    client_.sleep(random_.between(0ms, longest));
    look();
    use();
    if (client_.profile_.forks && one_in(6)) fork();
    if (client_.profile_.converts && converter_.below(3) == 0) convert();
    // A renewal by stamp renews whatever exists, even if it is lost here.
    if (one_in(8) && valid()) {
      told_.renewing.insert(world_.current());
      static_cast<void>(plain_ ? locks_.renew_locks(stamp_, lease_).ok() : hold_.renew().ok());
      told_.renewing.erase(world_.current());
      look();
    }
  }
}

void Client::Round::let_go() {
  if (client_.process_.dead) {
    on_lost_.reset();
    hold_ = {};
    return;
  }
  if (!plain_ && one_in(8)) {
    // The destructor.
    const bool was_valid = valid();
    told_.let_go.insert(stamp_);
    record(history::Release{stamp_});
    hold_ = {};
    record(history::ReleaseUnknown{stamp_});
    told_.over.emplace(stamp_, 0);
    if (was_valid) told_.unconfirmed.emplace(stamp_, world_.now());
  } else if (!plain_ && lease_ != no_lease && one_in(8)) {
    detach();
  } else {
    release();
  }
  on_lost_.reset();
}

void Client::Round::release() {
  const bool was_valid = valid();
  const TimePoint valid_until = plain_ ? promised() : hold_.valid_until();
  told_.let_go.insert(stamp_);
  record(history::Release{stamp_});
  const Status status = plain_ ? locks_.release_locks(stamp_) : hold_.release();
  settle_release(stamp_, status, was_valid, valid_until);
  told_.over.emplace(stamp_, 0);
}

void Client::Round::detach() {
  told_.let_go.insert(stamp_);
  record(history::Release{stamp_});
  const Result<Stamp> detached = hold_.detach();
  record(history::ReleaseUnknown{stamp_});
  if (detached) {
    client_.sleep(random_.between(0ms, 1s));
    if (one_in(3)) static_cast<void>(locks_.renew_locks(*detached, 1s).ok());
  }
  told_.over.emplace(stamp_, 0);
  if (!detached) return;
  told_.let_go.insert(stamp_);
  record(history::Release{stamp_});
  settle_release(stamp_, locks_.release_locks(*detached), false, {});
}

void Client::Round::settle_release(Stamp stamp, const Status& status, bool was_valid,
                                   TimePoint valid_until) {
  if (status) {
    const Fate* const fate = client_.truth_.fate(stamp);
    const bool by_others =
        fate != nullptr && (fate->end == Fate::End::broken || fate->end == Fate::End::reclaimed);
    if (by_others) {
      // After a lost answer nobody knows who ended it (semantics 9).
      record(history::ReleaseUnknown{stamp});
    } else {
      record(history::Released{stamp});
    }
    ++world_.counts["releases"];
    const bool back = fate != nullptr && fate->back;
    if (client_.truth_.live(stamp) && !back && !client_.process_.dead) {
      client_.complain("released is released", stamp, "released, and the store has it still");
    }
    return;
  }
  // A hold that was given up here may still exist: then the store was not asked.
  const bool said_so =
      status.error().code == Errc::not_held && told_.is_gone(stamp, client_.truth_.lost_state());
  if (said_so) {
    record(history::NotHeld{stamp});
  } else {
    record(history::ReleaseUnknown{stamp});
  }
  ++world_.counts[status.error().code == Errc::not_held ? "not held" : "releases in doubt"];
  if (client_.process_.dead) return;
  if (status.error().code != Errc::not_held) {
    if (was_valid) told_.unconfirmed.emplace(stamp, world_.now());
    return;
  }
  const Fate* const fate = client_.truth_.fate(stamp);
  const bool own =
      fate != nullptr && fate->end == Fate::End::released && fate->ended_by == &client_.process_;
  if (was_valid && own && world_.now() < valid_until) {
    client_.complain("a release that was done is a success", stamp,
                     "said to be not held, though its own release ended it in time");
  }
}

void Client::Round::break_somebody() {
  const Result<Inspection> found = locks_.inspect();
  if (!found || found->holds.empty()) return;
  const HoldInfo& hold = found->holds[random_.below(found->holds.size())];
  // A history would show a break of the own process's hold as a release.
  const bool own = hold.owner.label == client_.process_.name;
  // Nor can a history show how long a broken hold is valid that also ends with its application's.
  const bool hangs_on_another = hold.owner.epoch > 0;
  if (own || hangs_on_another || hold.items.front().name.starts_with('@')) return;
  record(history::Release{hold.stamp});
  const Status status = locks_.break_hold(hold.stamp);
  if (status) {
    record(history::Released{hold.stamp});
    ++world_.counts["broken"];
  } else if (status.error().code == Errc::not_held) {
    record(history::NotHeld{hold.stamp});
  } else {
    record(history::ReleaseUnknown{hold.stamp});
  }
}

}  // namespace lockset::simulation
