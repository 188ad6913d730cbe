#include "tests/simulation/frame.h"

#include <string>
#include <utility>

#include "lockset/space_config.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

void configure(Backend& store, const Profile& profile) {
  const std::string all(default_permits_name);
  static_cast<void>(store.change_config(SetPermits{all, Mode::read, profile.reads}, {}).ok());
  static_cast<void>(store.change_config(SetPermits{all, Mode::write, profile.writes}, {}).ok());
  static_cast<void>(store.change_config(SetMaxOvertakes{profile.max_overtakes}, {}).ok());
}

void record_permits(World& world, const Profile& profile) {
  for (const char* const name : {"a", "b", "c", "d"}) {
    world.record(history::PermitsBegin{name, profile.reads, profile.writes});
    world.record(history::PermitsEnd{name, profile.reads, profile.writes});
  }
}

history::Rules rules_of(const Profile& profile) {
  history::Rules rules;
  rules.late = 2 * profile.io_timeout;
  rules.lost_delay = 0ms;
  // A try, the question what became of it, a second try with a new configuration, and giving back a
  // grant that came too late.
  rules.reply = 1s + 6 * profile.io_timeout;
  rules.spurious_busy = 0;
  rules.spurious_changes = 0;
  // A superseded client gets no other answer, and keeps asking.
  rules.recovery = Duration::max();
  rules.least = {};
  return rules;
}

std::optional<history::Report> judge(Outcome& outcome, World& world, const history::Rules& rules,
                                     const std::function<bool(history::Invariant)>& excused) {
  for (const World::Complaint& each : world.complaints()) {
    outcome.failures.push_back({each.rule, each.story});
  }
  std::optional<history::Report> result;
  if (Result<history::Report> report = history::check(world.history, rules)) {
    for (const history::Violation& each : report->violations) {
      if (excused && excused(each.invariant)) continue;
      outcome.failures.push_back({std::string(to_string(each.invariant)), each.story});
    }
    world.counts["overlaps"] += report->counts.overlaps;
    world.counts["waits judged for overtaking"] += report->counts.waits;
    result = *std::move(report);
  } else {
    outcome.failures.push_back({"the history makes sense", report.error().message});
  }
  outcome.counts = world.counts;
  outcome.history = std::move(world.history);
  outcome.ended = world.now();
  return result;
}

}  // namespace lockset::simulation
