#include <chrono>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view workload = "renewal";

}  // namespace

// A process that holds much renews it, while another one locks and
// unlocks: before, and meanwhile.
void renewal(Notebook& notebook, const Target& space) {
  const Plan& plan = notebook.plan();
  const std::uint64_t holds = std::min(plan.renewed, space.store->most_holds);
  const auto tell = [&](const std::string& what) {
    notebook.progress(space.id + ": " + std::string(workload) + ", " + what);
  };
  const auto lease_ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(plan.renewal_lease).count();
  auto group = std::make_shared<Group>(space.url, lockset_rival, Group::Size{});
  // Each hold is renewed once in a third of its lease.
  const Duration length = plan.renewal_lease / 3;

  tell("one client alone");
  group->run({}, plan.slice);
  const CycleResult before = group->run({}, length);
  if (notebook.interrupted()) return;
  tell("taking " + std::to_string(holds) + " holds");
  Worker keeper;
  keeper.ask({{"do", "keep"}, {"url", space.url.text}, {"count", holds}, {"lease_ms", lease_ms}},
             std::chrono::seconds(120));
  std::vector<double> shares;
  std::uint64_t renewals = 0;
  CycleResult meanwhile;
  for (int turn = 0; turn < plan.repetitions && !notebook.interrupted(); ++turn) {
    tell("a third of a lease, turn " + std::to_string(turn + 1) + " of " +
         std::to_string(plan.repetitions));
    const nlohmann::json from = keeper.ask({{"do", "usage"}});
    meanwhile.add(group->run({}, length));
    const nlohmann::json to = keeper.ask({{"do", "usage"}});
    const double seconds = static_cast<double>(to.at("at_ns").get<std::int64_t>() -
                                               from.at("at_ns").get<std::int64_t>()) /
                           1e9;
    shares.push_back((to.at("cpu_seconds").get<double>() - from.at("cpu_seconds").get<double>()) /
                     seconds);
    renewals += to.at("renewed").get<std::uint64_t>() - from.at("renewed").get<std::uint64_t>();
  }
  if (shares.empty()) return;
  keeper.kill();
  const auto over = [&](double part) {
    const double base = before.lock.percentile_us(part);
    return base > 0 ? meanwhile.lock.percentile_us(part) / base : 0;
  };
  nlohmann::ordered_json json = {{"workload", workload},
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
                                 {"slowdown", spread({over(0.5)})},
                                 {"slowdown_p99", spread({over(0.99)})},
                                 {"lock_us_before", summary_us(before.lock)},
                                 {"lock_us", summary_us(meanwhile.lock)}};
  notebook.record(std::move(json));
}

}  // namespace lockset::bench
