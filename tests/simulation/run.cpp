#include "tests/simulation/run.h"

#include <functional>
#include <list>
#include <optional>
#include <stop_token>

#include "core/history/check.h"
#include "tests/simulation/client.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration longest_lease = 40s;

class Run {
 public:
  explicit Run(std::uint64_t seed, Schedule& schedule)
      : profile_(make_profile(seed)),
        world_(schedule),
        store_(world_, profile_),
        resource_(world_) {}

  Outcome go() {
    set_permits();
    world_.record(history::FaultBegin{"seed"});
    world_.set_pauses(profile_.pauses, profile_.longest_pause);
    store_.begin();
    for (std::uint32_t i = 0; i < profile_.clients; ++i) start(i, 1);
    if (profile_.changes_permits) administer();
    world_.at(profile_.calm, [this] {
      world_.calm_down();
      world_.record(history::FaultEnd{"seed"});
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
    judge(outcome);
    outcome.counts = std::move(world_.counts);
    outcome.history = std::move(world_.history);
    outcome.ended = world_.now();
    return outcome;
  }

 private:
  // One that dies is started again.
  void start(std::uint32_t actor, int life) {
    Process& process =
        world_.add_process("client-" + std::to_string(actor) + "." + std::to_string(life), actor);
    Client& client = clients_.emplace_back(world_, store_, resource_, profile_, process);
    world_.spawn(process, [&client] { client.run(); });
    deaths_.emplace_back(process.killed.get_token(), [this, actor, life] {
      world_.after(200ms, [this, actor, life] {
        if (world_.now() < profile_.calm) start(actor, life + 1);
      });
    });
  }

  void administer() {
    Process& process = world_.add_process("admin", profile_.clients);
    Client& client = clients_.emplace_back(world_, store_, resource_, profile_, process);
    world_.spawn(process, [&client] { client.administer(); });
  }

  void set_permits() {
    Backend& store = store_.serve(nullptr);
    const std::string all(default_permits_name);
    static_cast<void>(store.change_config(SetPermits{all, Mode::read, profile_.reads}, {}).ok());
    static_cast<void>(store.change_config(SetPermits{all, Mode::write, profile_.writes}, {}).ok());
    for (const char* const name : {"a", "b", "c", "d"}) {
      world_.record(history::PermitsBegin{name, profile_.reads, profile_.writes});
      world_.record(history::PermitsEnd{name, profile_.reads, profile_.writes});
    }
  }

  void judge(Outcome& outcome) {
    for (const World::Complaint& each : world_.complaints()) {
      outcome.failures.push_back({each.rule, each.story});
    }
    history::Rules rules;
    rules.slack = store_.slack(longest_lease);
    rules.late = 2 * profile_.io_timeout;
    rules.lost_delay = 0ms;
    // A try, the question what became of it, once more with a new configuration, and to give
    // back what came too late.
    rules.reply = 1s + 6 * profile_.io_timeout;
    rules.spurious_busy = 0;
    rules.least = {};
    const Result<history::Report> report = history::check(world_.history, rules);
    if (!report) {
      outcome.failures.push_back({"the history makes sense", report.error().message});
      return;
    }
    for (const history::Violation& each : report->violations) {
      if (excused(each.invariant)) continue;
      outcome.failures.push_back({std::string(to_string(each.invariant)), each.story});
    }
    world_.counts["overlaps"] += report->counts.overlaps;
  }

  // Of a store whose clock was stepped, or which lost what it had, only part is promised.
  [[nodiscard]] bool excused(history::Invariant invariant) const {
    using history::Invariant;
    switch (profile_.world) {
      case Profile::World::promised:
        return false;
      case Profile::World::stepped:
        return invariant == Invariant::exclusion || invariant == Invariant::fencing ||
               invariant == Invariant::atomic_sets || invariant == Invariant::resource;
      case Profile::World::restored:
        return invariant != Invariant::liveness && invariant != Invariant::leaks;
    }
    return false;
  }

  const Profile profile_;
  World world_;
  Store store_;
  Resource resource_;
  std::list<Client> clients_;
  std::list<std::stop_callback<std::function<void()>>> deaths_;
};

Outcome run(std::uint64_t seed, Schedule schedule) {
  Outcome outcome = Run(seed, schedule).go();
  outcome.decisions = schedule.taken();
  return outcome;
}

}  // namespace

Outcome run(std::uint64_t seed) { return run(seed, Schedule(seed)); }

Outcome run(std::uint64_t seed, const std::vector<Decision>& decisions) {
  return run(seed, Schedule(seed, decisions));
}

}  // namespace lockset::simulation
