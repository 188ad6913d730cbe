#include "tests/mutants/load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <optional>
#include <thread>

#include "tests/mutants/actor.h"
#include "tests/support/seed.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

class Play {
 public:
  Play(const Scene& scene, std::uint64_t seed) : scene_(scene) {
    const Load& load = scene.load;
    if (load.resource) resources_.emplace(load.resource);
    if (load.permits != Permits{}) {
      // Not recorded: the checker uses what each client says about them when it asks.
      test::Client before(scene.connect(), "before");
      before.set_permits("a", Mode::read, load.permits.read);
      before.set_permits("a", Mode::write, load.permits.write);
    }
    for (std::size_t i = 0; i < load.clients; ++i) {
      actors_.push_back(std::make_unique<Actor>(scene, "client-" + std::to_string(i), seed + i));
    }
    if (load.snapshots) observer_ = std::make_unique<Actor>(scene, "observer", seed);
    if (load.changing_permits) changer_ = std::make_unique<Actor>(scene, "changer", seed);
  }

  void round() {
    std::atomic<bool> stop = false;
    std::vector<std::jthread> beside;
    if (observer_) beside.emplace_back([&] { observer_->look(stop); });
    if (changer_) beside.emplace_back([&] { changer_->change_permits(stop); });
    test::run_threads(actors_.size(), [&](std::size_t i) {
      actors_[i]->take_and_give_back(resources_ ? &*resources_ : nullptr);
    });
    stop = true;
  }

  // Holds that nobody released end with their leases; whatever remains after that is left.
  void end() {
    if (scene_.load.given_up == 0) return;
    test::Client last(scene_.connect(), "last");
    Inspection left;
    test::eventually(
        [&] {
          left = last.inspect();
          return left.holds.empty() && left.waiters.empty();
        },
        scene_.load.lease + scene_.rules.slack);
    end_.record(history::End{left.holds.size(), left.waiters.size(), 0});
  }

  [[nodiscard]] history::Report report() const {
    history::History history{end_.log()};
    for (const auto& actor : actors_) history.push_back(actor->log());
    if (observer_) history.push_back(observer_->log());
    if (changer_) history.push_back(changer_->log());
    return history::check(history, scene_.rules).value();
  }

 private:
  const Scene& scene_;
  std::optional<Resources> resources_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::unique_ptr<Actor> observer_;
  std::unique_ptr<Actor> changer_;
  test::Recorder end_{"end"};
};

void print(const history::Report& report) {
  std::cout << "  " << report.counts.grants << " grants, " << report.counts.overlaps
            << " overlaps, " << report.counts.busy << " busy";
  for (std::size_t i = 0; i < history::invariant_count; ++i) {
    if (report.found[i] == 0) continue;
    std::cout << ", " << to_string(static_cast<Invariant>(i)) << ": " << report.found[i];
  }
  std::cout << "\n";
}

}  // namespace

history::Rules strict_rules() {
  history::Rules rules;
  rules.slack = 20ms;
  rules.records_lost = false;
  rules.least = {.grants = 100, .overlaps = 20, .busy = 10};
  return rules;
}

history::Report drive(const Scene& scene, const std::function<bool(const history::Report&)>& enough,
                      Duration limit) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  Play play(scene, seed);
  const TimePoint over = BootClock::now() + limit;
  do {
    play.round();
  } while (!enough(play.report()) && BootClock::now() < over);
  play.end();
  history::Report report = play.report();
  print(report);
  return report;
}

void expect_flagged(const Scene& scene, Invariant meant, const std::vector<Invariant>& also,
                    const std::vector<Invariant>& perhaps) {
  std::vector<Invariant> expected = also;
  expected.push_back(meant);
  const history::Report report = drive(scene, [&](const history::Report& so_far) {
    return std::ranges::all_of(expected, [&](Invariant each) {
      // Left-over holds show only at the end.
      return each == Invariant::leaks ? so_far.vacuous.empty() : so_far.found_of(each) > 0;
    });
  });
  for (const Invariant each : expected) {
    EXPECT_GT(report.found_of(each), 0U) << "not flagged by " << to_string(each);
  }
  for (const history::Violation& each : report.violations) {
    const auto among = [&](const std::vector<Invariant>& some) {
      return std::ranges::find(some, each.invariant) != some.end();
    };
    EXPECT_TRUE(among(expected) || among(perhaps))
        << to_string(each.invariant) << ": " << each.story;
  }
}

void expect_sound(const Scene& scene) {
  const history::Report report =
      drive(scene, [](const history::Report& so_far) { return so_far.vacuous.empty(); });
  for (const history::Violation& each : report.violations) {
    ADD_FAILURE() << to_string(each.invariant) << ": " << each.story;
  }
  for (const std::string& each : report.vacuous) ADD_FAILURE() << each;
}

}  // namespace lockset::mutants
