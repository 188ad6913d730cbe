#include <chrono>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view renewal_workload = "renewal";

}  // namespace

// A process with many holds renews them while another one locks and unlocks: before, meanwhile, and
// afterwards.
void renewal(Notebook& notebook, const Target& space) {
  const Plan& plan = notebook.plan();
  const std::uint64_t holds = std::min(plan.renewed, space.store->most_holds);
  const auto tell = [&](const std::string& what) {
    notebook.progress(space.id + ": " + std::string(renewal_workload) + ", " + what);
  };
  const auto lease_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(plan.renewal_lease).count();
  auto group = std::make_shared<Group>(space.url, lockset_rival, Group::Size{});
  // Each hold is renewed once per third of its lease.
  const Duration length = plan.renewal_lease / 3;

  // The basis of the comparison, before and afterwards: the machine's speed changes with time.
  CycleResult alone;
  const auto run_alone = [&] {
    tell("one client alone");
    alone.add(group->run({}, length / 2));
  };
  group->run({}, plan.slice);
  run_alone();
  if (notebook.interrupted()) return;
  tell("taking " + std::to_string(holds) + " holds");
  Worker keeper;
  keeper.ask({{"do", "keep"}, {"url", space.url.text}, {"count", holds}, {"lease_ms", lease_ms}},
             std::chrono::seconds(120));
  std::vector<double> shares;
  std::uint64_t renewals = 0;
  std::vector<CycleResult> meanwhile;
  for (int turn = 0; turn < plan.repetitions && !notebook.interrupted(); ++turn) {
    tell("a third of a lease, turn " + std::to_string(turn + 1) + " of " +
         std::to_string(plan.repetitions));
    const nlohmann::json from = keeper.ask({{"do", "usage"}});
    meanwhile.push_back(group->run({}, length));
    const nlohmann::json to = keeper.ask({{"do", "usage"}});
    const double seconds = static_cast<double>(to.at("at_ns").get<std::int64_t>() -
                                               from.at("at_ns").get<std::int64_t>()) /
                           1e9;
    shares.push_back((to.at("cpu_seconds").get<double>() - from.at("cpu_seconds").get<double>()) /
                     seconds);
    renewals += to.at("renewed").get<std::uint64_t>() - from.at("renewed").get<std::uint64_t>();
  }
  if (shares.empty()) return;
  // Its holds stay, and are not renewed any more.
  keeper.kill();
  run_alone();
  const auto slowdown = [&](double part) {
    std::vector<double> result;
    for (const CycleResult& turn : meanwhile) {
      result.push_back(turn.lock.percentile_us(part) / alone.lock.percentile_us(part));
    }
    return spread(result);
  };
  CycleResult all;
  for (const CycleResult& turn : meanwhile) all.add(turn);
  nlohmann::ordered_json json = {{"workload", renewal_workload},
                                 {"space", space.id},
                                 {"rival", lockset_rival.name},
                                 {"role", "lockset"},
                                 {"clients", 1},
                                 {"processes", 2},
                                 {"names", 1},
                                 {"holds", holds},
                                 {"lease_ms", lease_ms},
                                 {"renewals", renewals},
                                 {"cpu_share", spread(shares)},
                                 {"lock_us", summary_us(all.lock)}};
  // In memory the two processes don't affect each other.
  if (space.url.scheme != "memory" && alone.lock.count() > 0) {
    json["lock_us_alone"] = summary_us(alone.lock);
    json["slowdown"] = slowdown(0.5);
    json["slowdown_p99"] = slowdown(0.99);
  }
  notebook.record(std::move(json));
}

}  // namespace lockset::bench
