#include <stdexcept>
#include <thread>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view crash_workload = "crash";
// After this time no further repetition begins: other rivals' leases may be long.
constexpr Duration enough = std::chrono::seconds(25);
constexpr Duration longest_crash = std::chrono::seconds(90);

nlohmann::json enter(const Target& space, const Rival& rival, std::int64_t lease_ms) {
  return {{"do", "enter"}, {"url", space.url.text}, {"rival", rival.name}, {"clients", 1},
          {"first", 0},    {"lease_ms", lease_ms}};
}

// Milliseconds from the kill of a holder to the grant for a waiter.
double recover(const Target& space, const Rival& rival, std::int64_t lease_ms,
               const std::string& name) {
  Worker holder;
  Worker waiter;
  holder.ask(enter(space, rival, lease_ms));
  waiter.ask(enter(space, rival, lease_ms));
  holder.ask({{"do", "lock"}, {"name", name}});
  waiter.order({{"do", "lock"}, {"name", name}});
  // The other client waits, and part of the lease is over, as in reality.
  std::this_thread::sleep_for(std::chrono::milliseconds(lease_ms / 4));
  const auto killed = BootClock::now().time_since_epoch().count();
  holder.kill();
  const auto granted = waiter.answer(longest_crash).at("granted_ns").get<std::int64_t>();
  if (granted < killed) throw std::runtime_error("was granted what another one held");
  waiter.ask({{"do", "unlock"}});
  return static_cast<double>(granted - killed) / 1e6;
}

void run(Notebook& notebook, const Target& space, const Rival& rival) {
  const Plan& plan = notebook.plan();
  const auto lease_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(plan.crash_lease).count();
  const TimePoint until = BootClock::now() + enough;
  std::vector<double> took;
  for (int turn = 0; turn < plan.repetitions && BootClock::now() < until; ++turn) {
    if (notebook.interrupted()) break;
    notebook.progress(space.id + ": " + std::string(crash_workload) + ", " +
                      std::string(rival.name) + ", turn " + std::to_string(turn + 1) + " of " +
                      std::to_string(plan.repetitions));
    took.push_back(recover(space, rival, lease_ms, "bench-crash-" + std::to_string(turn)));
  }
  if (took.empty()) return;
  const bool lockset = rival.role == Role::lockset;
  notebook.record({{"workload", crash_workload},
                   {"space", space.id},
                   {"rival", rival.name},
                   {"role", lockset ? "lockset" : "native"},
                   {"clients", 2},
                   {"processes", 2},
                   {"names", 1},
                   {"holds", 0},
                   {"lease_ms", lockset ? lease_ms : 0},
                   {"recovery_ms", spread(took)}});
}

}  // namespace

void crash(Notebook& notebook, const Target& space) {
  if (space.url.scheme == "memory") return;  // its locks end with the process
  run(notebook, space, lockset_rival);
  // Other rivals may have leases of a minute.
  if (notebook.plan().quick) return;
  for (const Rival& rival : space.store->rivals) {
    if (!rival.waits || notebook.interrupted()) continue;
    try {
      run(notebook, space, rival);
    } catch (const std::exception& error) {
      notebook.failed(space, crash_workload, std::string(rival.name) + ": " + error.what());
    }
  }
}

}  // namespace lockset::bench
