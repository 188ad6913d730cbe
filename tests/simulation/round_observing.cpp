// What a round does with observations: it looks at names without locking them, and asks later
// whether they have changed; by a validation, or by the condition of its acquire.
#include <algorithm>
#include <utility>

#include "tests/simulation/round.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

void Client::Round::observe() {
  // Now and then one that was kept for long.
  if (client_.seen_ && optimist_.below(4) == 0) {
    seen_ = client_.seen_;
  } else {
    std::vector<std::string> names;
    for (const char* const name : {"a", "b", "c", "d"}) {
      if (optimist_.below(3) == 0) names.emplace_back(name);
    }
    if (names.empty()) names.emplace_back("b");
    const std::uint64_t op = ++client_.process_.ops;
    const TimePoint asked = world_.now();
    const std::uint64_t troubles = client_.process_.troubles;
    record(history::Observe{op});
    const Result<Observation> seen = locks_.observe(names);
    if (!seen) {
      record(history::NotObserved{op});
      bear(seen.error(), "observe", asked, troubles);
      return;
    }
    history::Observed observed{op, {}};
    for (const Observation::Item& item : seen->items()) {
      observed.saw.push_back({item.name, item.last_write, item.being_written});
    }
    record(std::move(observed));
    ++world_.counts["observations"];
    seen_ = client_.seen_ = Seen{op, asked, *seen};
  }
  if (client_.process_.dead) return;
  client_.sleep(optimist_.between(0ms, client_.profile_.rest));
  if (optimist_.below(2) == 0) validate();
  if (optimist_.below(3) > 0) rely_on_it();
}

// Every observed name has to be in the set.
void Client::Round::rely_on_it() {
  on_condition_ = true;
  for (const Observation::Item& item : seen_->observation.items()) {
    const bool wanted = std::any_of(wanted_.begin(), wanted_.end(), [&](const LockRequest& each) {
      return each.name == item.name;
    });
    if (!wanted) wanted_.push_back({item.name, Mode::read});
  }
  std::sort(wanted_.begin(), wanted_.end(),
            [](const LockRequest& a, const LockRequest& b) { return a.name < b.name; });
}

void Client::Round::validate() {
  if (client_.process_.dead) return;
  const std::uint64_t op = ++client_.process_.ops;
  const TimePoint asked = world_.now();
  const std::uint64_t troubles = client_.process_.troubles;
  record(history::Validate{op, seen_->op});
  const Result<std::vector<Change>> changes = locks_.changes_since(seen_->observation);
  if (!changes) {
    record(history::NotValidated{op});
    bear(changes.error(), "validate", asked, troubles);
    return;
  }
  if (changes->empty()) {
    record(history::Unchanged{op});
    ++world_.counts["validations: unchanged"];
    return;
  }
  history::Changed changed{op, {}};
  for (const Change& each : *changes) {
    changed.saw.push_back({each.name, each.stamp, each.was_being_written});
  }
  record(std::move(changed));
  ++world_.counts["validations: changed"];
}

void Client::Round::bear(const Error& error, const std::string& what, TimePoint asked,
                         std::uint64_t troubles) {
  ++world_.counts["observations that failed"];
  const bool expected = client_.process_.troubles != troubles || client_.expects(error, asked);
  if (expected || client_.process_.dead) return;
  world_.complain("trouble from nowhere", client_.process_.name + " could not " + what + ": " +
                                              std::string(to_string(error.code)) + ": " +
                                              error.message);
}

// Semantics 28: an acquire is not refused because of its own grant, whose answer was lost.
void Client::Round::check_not_own(const std::vector<Told::Attempt>& attempts) {
  std::string own;
  for (const Observation::Item& item : seen_->observation.items()) {
    const std::optional<Truth::Write> write = client_.truth_.last_write(item.name);
    const bool since = write && write->at >= seen_->asked;
    const bool by_itself =
        since && std::any_of(attempts.begin(), attempts.end(),
                             [&](const Told::Attempt& each) { return each.token == write->token; });
    if (item.being_written || (since && !by_itself)) return;
    if (by_itself) own = item.name;
  }
  if (own.empty() || client_.process_.dead) return;
  client_.complain("its own grant is no change", {},
                   "told that " + in_quotes(own) + " has changed, by its own grant");
}

}  // namespace lockset::simulation
