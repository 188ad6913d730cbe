// What a round does with conversions: it upgrades or downgrades what it holds, and looks all the
// while whether the old hold is still said to be valid.
#include <algorithm>
#include <utility>

#include "core/machine.h"
#include "tests/simulation/round.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

void Client::Round::convert() {
  if (client_.process_.dead) return;
  Mode mode = converter_.below(2) == 0 ? Mode::write : Mode::read;
  const auto has = [&](const LockRequest& each) { return each.mode == mode; };
  if (std::all_of(wanted_.begin(), wanted_.end(), has)) {
    mode = mode == Mode::write ? Mode::read : Mode::write;
  }
  const bool upgrade = mode == Mode::write;
  const std::vector<LockRequest> before = wanted_;
  for (LockRequest& item : wanted_) item.mode = mode;

  const Stamp old = replaced_ = stamp_;
  history::Ask ask{++client_.process_.ops, {}, lease_, 0ns};
  for (const LockRequest& item : wanted_) ask.set.push_back({item.name, item.mode, 0});
  op_ = ask.op;
  asked_ = world_.now();
  troubles_ = client_.process_.troubles;
  highest_ = told_.highest;
  record(std::move(ask));
  record(history::Replace{op_, old});
  told_.attempts.erase(world_.current());
  told_.busy.erase(world_.current());
  ++world_.counts["conversions"];

  std::stop_source over;
  Fiber& watcher =
      world_.spawn(client_.process_, [this, old, &over] { watch(old, over.get_token()); });
  std::optional<Error> error;
  Hold converted;
  Stamp stamp;
  if (plain_) {
    const auto answer = upgrade ? locks_.try_upgrade_locks(old) : locks_.downgrade_locks(old);
    if (answer.ok()) stamp = *answer;
    if (!answer.ok()) error = answer.error();
  } else {
    auto answer = upgrade ? hold_.try_upgrade() : hold_.downgrade();
    if (answer.ok() && answer->has_value()) converted = *std::move(*answer);
    if (!answer.ok()) error = answer.error();
    stamp = converted.stamp();
  }
  over.request_stop();
  world_.join(watcher);

  if (error && error->code == Errc::not_held) check_not_done(old);
  note_attempts(stamp);
  replaced_ = {};
  if (stamp) {
    if (!plain_ && hold_.valid() && !client_.process_.dead) {
      client_.complain("one of the two is valid", old, "valid() is true after it was converted");
    }
    if (!plain_ && hold_.lost_reason() == LostReason::gone && !client_.process_.dead) {
      client_.complain("what is converted is not lost", old, "said to be gone");
    }
    told_.over.emplace(old, 0);
    told_.let_go.insert(old);
    hold_ = std::move(converted);
    stamp_ = stamp;
    on_condition_ = false;
    floors_.clear();
    granted();
    ++world_.counts[upgrade ? "upgrades" : "downgrades"];
    return;
  }
  wanted_ = before;
  if (error) {
    not_converted(old, *error);
    return;
  }
  const Busy& busy = told_.busy[world_.current()];
  record(history::Busy{op_, busy.name, busy.holder});
  ++world_.counts[upgrade ? "upgrades refused" : "downgrades refused"];
}

void Client::Round::not_converted(Stamp stamp, const Error& error) {
  if (error.code != Errc::not_held) {
    not_granted(error);
    return;
  }
  record(history::Refused{op_});
  ++world_.counts["conversions of what was gone"];
  if (valid() && !client_.process_.dead) {
    client_.complain("what is gone is lost", stamp,
                     "said to be not held when it was to be converted, and valid() is true");
  }
}

// Semantics 29: an attempt that finds the hold gone looks for the earlier ones, whose answers were
// lost.
void Client::Round::check_not_done(Stamp stamp) {
  const Fate* const old = client_.truth_.fate(stamp);
  const Stamp successor = old != nullptr ? old->successor : Stamp{};
  if (!client_.truth_.live(successor) || client_.process_.dead) return;
  for (const Told::Attempt& each : told_.attempts[world_.current()]) {
    if (each.token != client_.truth_.fate(successor)->token) continue;
    client_.complain("a conversion that was done is a success", stamp,
                     "said to be not held, though this very call has converted it");
  }
}

// It is said to be valid for as long as nobody else may get in between.
void Client::Round::watch(Stamp stamp, const std::stop_token& over) {
  while (!over.stop_requested() && !client_.process_.dead) {
    look_at(stamp, [&] { return locks_.valid(stamp); });
    sleep_until(world_.now() + converter_.between(100us, 100ms), over);
  }
}

}  // namespace lockset::simulation
