#include "tests/simulation/migration/run.h"

#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/machine.h"
#include "core/migration_mark.h"
#include "core/random.h"
#include "tests/simulation/frame.h"
#include "tests/simulation/migration/steerer.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t first_steerer = 50;
constexpr std::uint32_t conductor = 60;
constexpr Duration longest_lease = 40s;

class Run {
 public:
  Run(std::uint64_t seed, Schedule& schedule, Mutant mutant)
      : setting_(make_setting(seed, mutant)),
        world_(schedule),
        stores_(world_, setting_),
        resource_(world_) {}

  Outcome go() {
    for (SimulatedStore* const store : {&stores_.old_store, &stores_.new_store}) {
      configure(store->serve(nullptr), profile_);
    }
    record_permits(world_, profile_);
    world_.record(history::FaultBegin{"seed"});
    world_.set_pauses(profile_.pauses, profile_.longest_pause);
    begin_at(setting_.begins);
    stores_.begin();
    for (std::uint32_t i = 0; i < setting_.programs; ++i) start(i, 1);
    for (std::uint32_t i = 0; i < setting_.steerers; ++i) steer(i, 1);
    world_.at(profile_.calm, [this] {
      world_.calm_down();
      world_.record(history::FaultEnd{"seed"});
    });
    Process& last = world_.add_process("conductor", conductor);
    world_.spawn(last, [this, &last] { conduct(last); });

    Outcome outcome;
    bool ended = world_.run();
    // All leases end, also those of the shadow's reports.
    world_.after(1h, [this] { stores_.finish(); });
    ended = ended && world_.run();
    if (!ended) outcome.failures.push_back({"every call returns", "the run did not end"});
    history::Rules rules = rules_of(profile_);
    rules.slack =
        std::max(stores_.old_store.slack(longest_lease), stores_.new_store.slack(longest_lease));
    // A hold that does not block any more may have blocked for a moment: with its old part, while
    // the new store refused it. A hold is lost with either part, and the other part may remain for
    // a moment.
    rules.denials_end = false;
    rules.spurious_busy = 1;
    // What was observed ends when another store begins to give the stamps. A part that the other
    // store refused was there for a moment, and has left its stamp.
    rules.spurious_changes = std::numeric_limits<double>::infinity();
    if (const auto report = judge(outcome, world_, rules)) {
      outcome.counts["busy without a reason in the history"] += report->counts.spurious_busy;
    }
    return outcome;
  }

 private:
  void begin_at(MigrationPhase phase) {
    if (phase == MigrationPhase::old_only) return;
    using Step = MigrationMark::Step;
    constexpr Step of_old[] = {Step::none, Step::shadow, Step::dual_old, Step::dual_new,
                               Step::dual_new};
    const auto set = [](SimulatedStore& store, Step step) {
      constexpr std::uint32_t number = 77;
      const SetMigrationPhase change{MigrationMark{step, number}.encode(), {}};
      static_cast<void>(store.serve(nullptr).change_config(change, TimePoint::max()).ok());
    };
    set(stores_.new_store, phase == MigrationPhase::new_only ? Step::open : Step::prepared);
    set(stores_.old_store, of_old[static_cast<std::size_t>(phase)]);
  }

  // --- programs: one that ends or dies is started again ---

  void start(std::uint32_t actor, int life) {
    const TimePoint now = world_.now();
    const std::int64_t drawn =
        world_.schedule().draw(Kind::life, actor, 1, 0, std::int64_t{1} << 40).value_or(0);
    Random random(static_cast<std::uint64_t>(drawn));
    // Many are short: then in many phases some program has the configuration of another phase.
    TimePoint ends = now + random.between(500ms, random.below(3) == 0 ? 20s : 5s);
    const Configured how = drawn == 0 ? Configured::migrate : choose(random);
    if (now >= profile_.calm) ends = std::min(ends, now + 3s);
    const std::string name =
        "client-" + std::to_string(actor) + "." + std::to_string(life) + "-" + to_string(how);
    Process& process = world_.add_process(name, actor);
    Lines& lines = lines_.emplace_back(world_, stores_, setting_, process);
    Program& program =
        programs_.emplace_back(world_, stores_, resource_, setting_, process, lines, how, ends);
    ++running_;
    // Its end or its death, whichever comes first.
    const auto over = std::make_shared<bool>(false);
    world_.spawn(process, [this, &program, actor, life, over] {
      program.run();
      --running_;
      again(actor, life + 1, *over);
    });
    deaths_.emplace_back(process.killed.get_token(),
                         [this, actor, life, over] { again(actor, life + 1, *over); });
  }

  void again(std::uint32_t actor, int life, bool& over) {
    if (std::exchange(over, true)) return;
    world_.after(200ms, [this, actor, life] {
      if (!over_) start(actor, life);
    });
  }

  Configured choose(Random& random) {
    const std::uint64_t dice = random.below(100);
    const auto by = [&](std::uint64_t old_alone, std::uint64_t both) {
      if (dice < old_alone) return Configured::old_alone;
      return dice < old_alone + both ? Configured::migrate : Configured::new_alone;
    };
    // In the end only programs that follow the migration are left.
    if (world_.now() >= profile_.calm) return Configured::migrate;
    const Result<MigrationMark> old_mark = MigrationMark::decode(stores_.marks().of_old);
    const Result<MigrationMark> new_mark = MigrationMark::decode(stores_.marks().of_new);
    using Step = MigrationMark::Step;
    if (new_mark->step == Step::open || new_mark->step == Step::done) return by(15, 45);
    if (old_mark->step == Step::dual_new || old_mark->step == Step::to_old) return by(15, 65);
    return by(45, 45);
  }

  // --- those who steer ---

  void steer(std::uint32_t which, int life) {
    Process& process = world_.add_process(
        "steerer-" + std::to_string(which) + "." + std::to_string(life), first_steerer + which);
    Lines& lines = lines_.emplace_back(world_, stores_, setting_, process);
    Steerer& steerer = steerers_.emplace_back(world_, setting_, process, lines);
    world_.spawn(process, [&steerer] { steerer.wander(); });
    deaths_.emplace_back(process.killed.get_token(), [this, which, life] {
      world_.after(300ms, [this, which, life] {
        if (world_.now() < profile_.calm) steer(which, life + 1);
      });
    });
  }

  // When all is calm: brings the migration to an end, and checks that all names can be locked then.
  void conduct(Process& process) {
    const std::stop_token never;
    const Duration in_flight = std::max(2 * profile_.io_timeout, profile_.longest_pause);
    sleep_until(profile_.calm + in_flight, never);
    Lines& lines = lines_.emplace_back(world_, stores_, setting_, process);
    Steerer& steerer = steerers_.emplace_back(world_, setting_, process, lines);
    const std::optional<MigrationPhase> end = steerer.bring_home();
    if (end) ++world_.counts["migrations brought to: " + std::string(to_string(*end))];
    // The wandering steerers are still acting on what they saw before.
    sleep_until(world_.now() + 3s, never);
    for (Program& each : programs_) each.check_settled();
    over_ = true;
    const TimePoint patience = world_.now() + 60s;
    while (running_ > 0 && world_.now() < patience) sleep_until(world_.now() + 200ms, never);
    if (!end) return;
    try_all(process, lines, Configured::migrate);
    try_all(process, lines,
            *end == MigrationPhase::old_only ? Configured::old_alone : Configured::new_alone);
  }

  void try_all(Process& process, Lines& lines, Configured how) {
    const std::string kind = to_string(how);
    Result<std::unique_ptr<Backend>> store =
        connect(how, lines, stores_, setting_)(world_.now() + 5s);
    if (!store) return complain_of(kind + " could not open: " + store.error().message);
    Options options;
    options.app = "conductor";
    options.lease = 2s;
    Result<Locks> locks = open(std::move(*store), options);
    if (!locks) return complain_of(kind + " could not open: " + locks.error().message);
    history::Ask ask{++process.ops, {}, 2s, 20s};
    std::vector<LockRequest> wanted;
    for (const char* const name : {"a", "b", "c", "d"}) {
      wanted.push_back(write(name));
      ask.set.push_back({name, Mode::write, 0});
    }
    const std::uint64_t op = ask.op;
    const TimePoint asked = world_.now();
    world_.record(process, std::move(ask));
    Result<Hold> hold = locks->acquire(wanted, {.wait = 20s, .stop = {}, .lease = 2s, .label = {}});
    if (!hold) {
      world_.record(process, history::Unknown{op});
      return complain_of(kind + " could not take all names: " + hold.error().message);
    }
    const Stamp stamp = hold->stamp();
    world_.record(process, history::Granted{op, stamp, asked + 1s, {}});
    world_.record(process, history::Release{stamp});
    const Status released = hold->release();
    world_.record(process, history::ReleaseUnknown{stamp});
    if (!released) complain_of(kind + " could not release: " + released.error().message);
    ++world_.counts["locked all at the end"];
  }

  void complain_of(const std::string& what) {
    world_.complain("all can be locked in the end", what);
  }

  const Setting setting_;
  const Profile& profile_ = setting_.old_store;
  World world_;
  Stores stores_;
  Resource resource_;
  std::list<Lines> lines_;
  std::list<Program> programs_;
  std::list<Steerer> steerers_;
  std::list<std::stop_callback<std::function<void()>>> deaths_;
  int running_ = 0;
  bool over_ = false;
};

}  // namespace

Outcome run_migration(std::uint64_t seed, const std::vector<Decision>* decisions, Mutant mutant) {
  Schedule schedule = decisions == nullptr ? Schedule(seed) : Schedule(seed, *decisions);
  Outcome outcome = Run(seed, schedule, mutant).go();
  outcome.decisions = schedule.taken();
  return outcome;
}

}  // namespace lockset::simulation
