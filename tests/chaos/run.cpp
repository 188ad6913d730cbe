#include "tests/chaos/run.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

#include "lockset/registry.h"
#include "tests/chaos/choice.h"
#include "tests/chaos/grant_watch.h"
#include "tests/chaos/observer.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/schedule.h"
#include "tests/chaos/store_trouble.h"
#include "tests/chaos/time_course.h"
#include "tools/interrupt.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// How long the first grant, the first grant after all faults, and the end of a process may take on
// a busy machine.
constexpr Duration longest_silence = 60s;
// A run of this length or more must have given every fault that was chosen.
constexpr Duration long_run = 5min;
// What every run that breaks the store has to contain. A busy machine may need longer for it.
constexpr std::size_t least_store_faults = 2;
constexpr Duration longest_extension = 60s;

// Faults of the store that affected somebody; faults that strike once count when they are given.
std::size_t strikes(const std::map<std::string, Given>& faults) {
  std::size_t all = 0;
  for (const auto& [name, given] : faults) all += given.hits.value_or(given.times);
  return all;
}

Duration time_of_calm(const Options& options) {
  return std::clamp<Duration>(options.time / 5, 2s, 20s);
}

// Counts the lines with this beginning, in all files of the folder.
std::size_t count_lines(const std::filesystem::path& folder, std::string_view beginning) {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(each.path());
    for (std::string line; std::getline(file, line);) count += line.starts_with(beginning) ? 1 : 0;
  }
  return count;
}

class Run {
 public:
  Run(const Options& options, const Folders& folders, Store& store, Course& course,
      Progress& progress)
      : options_(options),
        folders_(folders),
        store_(store),
        course_(course),
        progress_(progress),
        chosen_(choose_faults(options, store.faults())),
        log_("controller", (folders.logs() / "controller.log").string()),
        workers_(options, store, folders, log_,
                 {.lost_state = chosen(FaultKind::state),
                  .unfit = store.becomes_unfit() &&
                           (chosen(FaultKind::restore) || chosen(FaultKind::unfit))}),
        grants_(folders.logs()) {}

  Outcome play() {
    Outcome outcome;
    outcome.store = store_.name();
    outcome.version = store_.version();
    outcome.lease = store_.lease();
    outcome.rules = store_.rules();
    outcome.not_judged = store_.not_judged();
    if (!options_.migrate) outcome.converts = open_space()->traits().converting;
    const TimePoint began = BootClock::now();
    Observer::Options looking{.url = store_.direct_url(),
                              .log = (folders_.logs() / "observer.log").string(),
                              .seed = options_.seed,
                              .names = options_.names,
                              .permits_turn = &store_.permits_turn()};
    // A store that loses its state forgets that a hold was broken, and its holder registers it
    // again.
    if (chosen(FaultKind::state)) looking.break_every = Duration::zero();
    const bool forks = !options_.migrate && options_.wants("fork", "fork");
    if (forks) {
      if (auto wrong = workers_.open_and_fork(longest_silence))
        troubles_.push_back(std::move(*wrong));
    }
    Observer observer(std::move(looking));
    for (const std::string& each : store_.missing()) progress_.say("Not done here: " + each);
    observer.start();
    if (options_.faults.empty() && !options_.migrate) bound_overtaking();
    workers_.start();
    if (grants_come("at first", 0)) trouble(began, observer, outcome);
    outcome.lasted = BootClock::now() - began;
    outcome.interrupted = tools::interrupted();
    if (auto wrong = workers_.finish(longest_silence)) troubles_.push_back(std::move(*wrong));
    wait_for_leases(observer, outcome.rules);
    outcome.forks = count_lines(folders_.output(), "forked ");
    expect(outcome);
    outcome.kills = workers_.kills();
    outcome.stops = workers_.stops();
    outcome.troubles = std::move(troubles_);
    return outcome;
  }

 private:
  [[nodiscard]] bool chosen(FaultKind kind) const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](std::size_t index) { return store_.faults().at(index).kind == kind; });
  }

  [[nodiscard]] std::unique_ptr<Backend> open_space() const {
    auto store = open_backend(store_.direct_url(), BootClock::now() + longest_silence);
    if (!store) throw std::runtime_error("can't open the space: " + store.error().message);
    return *std::move(store);
  }

  // A low bound, so that waiters reach it. With faults they may be passed over, so it is not
  // judged.
  void bound_overtaking() {
    constexpr std::uint32_t most = 3;
    const auto store = open_space();
    if (!store->traits().bounded_overtaking) return;
    const auto set =
        store->change_config(SetMaxOvertakes{most}, BootClock::now() + longest_silence);
    if (!set) throw std::runtime_error("can't bound overtaking: " + set.error().message);
    log_.record(history::Bounded{most});
  }

  // Faults, then calm.
  void trouble(TimePoint began, Observer& observer, Outcome& outcome) {
    // A short run has less time for both.
    const Duration lease = store_.lease();
    const Duration apart = std::clamp<Duration>(options_.time / 8, lease / 2, 2 * lease);
    store_.record_with(
        [this](TimePoint at, history::What what) { log_.record_at(at, std::move(what)); });
    StoreTrouble faults(store_, chosen_, apart, options_.seed * 2 + 1, log_,
                        [this](const std::string& what) { progress_.note(what); });
    ProcessSchedule schedule(options_.seed * 2, options_.processes, lease, apart * 3 / 2,
                             options_.wants("kill", "kill"), options_.wants("stop", "stop"));
    const bool signals = options_.wants("kill", "kill") || options_.wants("stop", "stop");
    const Course::Cast cast{workers_, faults, observer};
    course_.begin(began, cast);
    play(course_, faults, signals ? &schedule : nullptr);
    const TimePoint limit = BootClock::now() + longest_extension;
    while (!hurt(faults.given()) && troubles_.empty() && !faults.failure() &&
           !tools::interrupted() && BootClock::now() < limit) {
      TimeCourse more(100ms);
      more.begin(BootClock::now(), cast);
      play(more, faults, nullptr);
    }
    course_.end();
    progress_.show("Ending the faults");
    faults.end();
    workers_.continue_all();
    outcome.faults = faults.given();
    busy_ = faults.busy();
    if (auto why = faults.failure()) troubles_.push_back(std::move(*why));
    settle();
    progress_.note("all faults are over");
    const std::uint64_t before = grants_.grants();
    grants_come("after the last fault", before);
    TimeCourse calm(time_of_calm(options_));
    calm.begin(BootClock::now(), cast);
    play(calm, faults, nullptr);
  }

  // In a migration a fault may affect nobody: not every phase uses both stores.
  [[nodiscard]] bool hurt(const std::map<std::string, Given>& faults) const {
    if (chosen_.empty() || options_.migrate) return true;
    std::size_t all = 0;
    for (const auto& [name, given] : faults) all += given.times;
    return all >= least_store_faults && strikes(faults) > 0;
  }

  // Sends signals to processes by the schedule, if there is one, until the course is over or
  // something is wrong.
  void play(Course& course, const StoreTrouble& faults, ProcessSchedule* schedule) {
    std::optional<ProcessSchedule::Step> step;
    TimePoint due = TimePoint::max();
    const auto draw = [&] {
      if (schedule == nullptr) return;
      step = schedule->next();
      due = BootClock::now() + step->pause;
    };
    draw();
    while (!tools::interrupted() && !faults.failure()) {
      if (auto wrong = workers_.trouble()) {
        troubles_.push_back(std::move(*wrong));
        return;
      }
      const TimePoint now = BootClock::now();
      const bool over = !course.go_on(now);
      if (auto wrong = course.trouble()) {
        troubles_.push_back(std::move(*wrong));
        return;
      }
      if (over) return;
      TimePoint next = std::min(workers_.continue_due(now), now + 100ms);
      if (step && due <= now) {
        if (step->kill) {
          workers_.kill(step->victim);
        } else {
          workers_.stop(step->victim, now + step->stopped);
        }
        draw();
      }
      next = std::min(next, due);
      show(course, faults);
      std::this_thread::sleep_until(next);
    }
  }

  void show(const Course& course, const StoreTrouble& faults) {
    if (!progress_.due()) return;
    progress_.show(options_.backend + ": " + course.state(BootClock::now()) + ", " +
                   std::to_string(grants_.grants()) + " grants, " +
                   std::to_string(workers_.kills()) + " kills, " +
                   std::to_string(workers_.stops()) + " stops, " + std::to_string(faults.total()) +
                   " faults, now: " + faults.present());
  }

  // Whether grants come soon.
  bool grants_come(const std::string& when, std::uint64_t before) {
    const TimePoint limit = BootClock::now() + longest_silence;
    while (grants_.grants() <= before) {
      if (tools::interrupted()) return false;
      if (auto wrong = workers_.trouble()) {
        troubles_.push_back(std::move(*wrong));
        return false;
      }
      if (BootClock::now() > limit) {
        troubles_.push_back("nothing was granted for " + readable(longest_silence) + " " + when);
        return false;
      }
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }

  void settle() {
    try {
      store_.settle();
    } catch (const std::runtime_error& error) {
      troubles_.push_back(std::string("the store does not come back: ") + error.what());
    }
  }

  // The holds of killed processes end on their own. Whatever is left after that is a leak.
  void wait_for_leases(Observer& observer, const history::Rules& rules) {
    progress_.show("Waiting for the last leases");
    try {
      const auto count = [this] {
        const Left left = store_.left();
        return history::End{left.holds, left.waiters, left.connections};
      };
      observer.finish(count,
                      (1 + rules.slack_per_lease) * store_.lease() + rules.slack + rules.late);
    } catch (const std::runtime_error& error) {
      troubles_.push_back(std::string("what is left can't be seen: ") + error.what());
    }
  }

  // A run that contains less shows nothing.
  void expect(Outcome& outcome) {
    const auto seconds = static_cast<std::uint64_t>(outcome.lasted / 1s);
    history::Expect least{seconds, seconds, seconds / 4, 0};
    // Some faults last long.
    const Duration calm = std::max<Duration>(outcome.lasted - busy_, Duration::zero());
    if (!options_.faults.empty()) least.faults = static_cast<std::uint64_t>(calm / 10s);
    least.ends = 1;
    log_.record(least);
    if (outcome.interrupted) return;
    if (options_.clock_forward()) expect_notice(outcome);
    if (troubles_.empty() && !hurt(outcome.faults)) {
      troubles_.push_back("fewer than " + std::to_string(least_store_faults) +
                          " faults of the store, or none that struck anybody");
    }
    if (outcome.lasted < long_run) return;
    const bool forks = options_.wants("fork", "fork") && !options_.migrate;
    if (forks && outcome.forks == 0) troubles_.push_back("no process has forked");
    for (const auto& [name, given] : outcome.faults) {
      if (given.times == 0) troubles_.push_back("the fault " + name + " was never given");
      // In a migration a fault may have affected nobody: not every phase uses both stores.
      if (given.times > 0 && given.hits == 0U && !options_.migrate) {
        troubles_.push_back("the fault " + name + " never struck anybody");
      }
    }
  }

  // The next client that renews after a step by more than the margin reports it (semantics 20).
  void expect_notice(Outcome& outcome) {
    outcome.steps_noticed = count_lines(folders_.output(), "clock_stepped");
    const std::size_t steps = outcome.faults["clock-forward"].times;
    if (steps == 0) troubles_.push_back("the clock did not step");
    if (steps > 0 && outcome.steps_noticed == 0) {
      troubles_.push_back("the clock stepped " + std::to_string(steps) +
                          " times, and no client noticed");
    }
  }

  const Options& options_;
  const Folders folders_;
  Store& store_;
  Course& course_;
  Progress& progress_;
  const std::vector<std::size_t> chosen_;
  test::Recorder log_;
  Workers workers_;
  GrantWatch grants_;
  Duration busy_{};
  std::vector<std::string> troubles_;
};

}  // namespace

Duration time_of_faults(const Options& options) { return options.time - time_of_calm(options); }

Outcome run(const Options& options, const Folders& folders, Store& store, Course& course,
            Progress& progress) {
  return Run(options, folders, store, course, progress).play();
}

}  // namespace lockset::chaos
