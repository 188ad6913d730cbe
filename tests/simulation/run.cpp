#include "tests/simulation/run.h"

#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <utility>

#include "backends/line_times.h"
#include "tests/simulation/client.h"
#include "tests/simulation/frame.h"
#include "tests/simulation/remote.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_lease = 40s;

class Run {
 public:
  Run(std::uint64_t seed, Schedule& schedule, Flaw flaw)
      : profile_(make_worldly_profile(seed, flaw)),
        world_(schedule),
        store_(world_, profile_),
        resource_(world_) {}

  Outcome go() {
    configure(store_.serve(nullptr), profile_);
    store_.config_changed = [this](const SpaceConfig& config) { note_permits(config); };
    note_permits(*store_.serve(nullptr).load_config(TimePoint::max()));
    const bool quiet = profile_.world == Profile::World::quiet;
    if (!quiet) {
      world_.record(history::FaultBegin{"seed"});
    } else if (profile_.max_overtakes != unlimited_overtakes) {
      world_.record(history::Bounded{profile_.max_overtakes});
    }
    world_.set_fork_guard(profile_.flaw != Flaw::unguarded_fork);
    world_.set_pauses(profile_.pauses, profile_.longest_pause);
    store_.begin();
    for (std::uint32_t i = 0; i < profile_.clients; ++i) start(i, 1);
    if (profile_.changes_permits) administer();
    world_.at(profile_.calm, [this, quiet] {
      world_.calm_down();
      if (!quiet) world_.record(history::FaultEnd{"seed"});
    });
    world_.at(profile_.settled, [this] {
      for (Client& each : clients_) each.check_settled();
    });

    Outcome outcome;
    bool ended = world_.run();
    // All leases end.
    world_.after(2 * longest_lease, [this] { store_.finish(); });
    ended = ended && world_.run();
    if (!ended) outcome.failures.push_back({"every call returns", "the run did not end"});
    history::Rules rules = rules_of(profile_);
    rules.slack = store_.slack(longest_lease);
    rules.waiter_lifetime = waiter_lifetime + store_.slack(waiter_lifetime);
    // A request needs no longer than that, and nobody is slow to come.
    rules.in_line = profile_.most_travel;
    rules.overtaken = 0;
    judge(outcome, world_, rules, [this](history::Invariant each) { return excused(each); });
    return outcome;
  }

 private:
  // A client that dies is started again.
  void start(std::uint32_t actor, int life) {
    Process& process =
        world_.add_process("client-" + std::to_string(actor) + "." + std::to_string(life), actor);
    Client& client = add_client(process);
    world_.spawn(process, [&client] { client.run(); });
    deaths_.emplace_back(process.killed.get_token(), [this, actor, life] {
      world_.after(200ms, [this, actor, life] {
        if (world_.now() < profile_.calm) start(actor, life + 1);
      });
    });
  }

  Client& add_client(Process& process) {
    Line& line = lines_.emplace_back(world_, store_, profile_, process);
    return clients_.emplace_back(world_, store_, resource_, profile_, process,
                                 [&line](TimePoint) -> Result<std::unique_ptr<Backend>> {
                                   return with_flaw(line.profile.flaw,
                                                    std::make_unique<Remote>(line));
                                 });
  }

  // Records them at the very moment at which they come into force.
  void note_permits(const SpaceConfig& config) {
    for (const char* const name : {"a", "b", "c", "d"}) {
      const Permits now = config.permits_of(name);
      const auto [at, fresh] = permits_.try_emplace(name, now);
      if (!fresh && std::exchange(at->second, now) == now) continue;
      world_.record(history::PermitsBegin{name, now.read, now.write});
      world_.record(history::PermitsEnd{name, now.read, now.write});
    }
  }

  void administer() {
    Process& process = world_.add_process("admin", profile_.clients);
    Client& client = add_client(process);
    world_.spawn(process, [&client] { client.administer(); });
  }

  // If the store's clock was stepped, or its calendar went back, only part is promised.
  [[nodiscard]] bool excused(history::Invariant invariant) const {
    using history::Invariant;
    switch (profile_.world) {
      case Profile::World::promised:
      case Profile::World::lost:
      case Profile::World::slow:
      case Profile::World::demoted:
      case Profile::World::quiet:
        return false;
      case Profile::World::stepped:
        return invariant == Invariant::exclusion || invariant == Invariant::fencing ||
               invariant == Invariant::atomic_sets || invariant == Invariant::resource ||
               invariant == Invariant::observing;
      case Profile::World::restored:
        return invariant == Invariant::fencing || invariant == Invariant::resource ||
               invariant == Invariant::observing;
    }
    return false;
  }

  const Profile profile_;
  World world_;
  SimulatedStore store_;
  Resource resource_;
  std::map<std::string, Permits> permits_;
  std::list<Line> lines_;
  std::list<Client> clients_;
  std::list<std::stop_callback<std::function<void()>>> deaths_;
};

Outcome run(std::uint64_t seed, Schedule schedule, Flaw flaw) {
  Outcome outcome = Run(seed, schedule, flaw).go();
  outcome.decisions = schedule.taken();
  return outcome;
}

}  // namespace

Outcome run(std::uint64_t seed, const std::vector<Decision>* decisions, Flaw flaw) {
  if (decisions == nullptr) return run(seed, Schedule(seed), flaw);
  return run(seed, Schedule(seed, *decisions), flaw);
}

}  // namespace lockset::simulation
