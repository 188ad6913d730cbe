#include <algorithm>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view many_held_workload = "many-held";

}  // namespace

void many_held(Notebook& notebook, const Target& space) {
  const RivalStore& store = *space.store;
  if (!can_fill(space)) return;
  std::uint64_t last = 0;
  for (const std::uint64_t wanted : notebook.plan().holds) {
    const std::uint64_t holds = std::min(wanted, store.most_holds);
    if (holds == last || notebook.interrupted()) continue;
    last = holds;
    notebook.progress(space.id + ": " + std::string(many_held_workload) + ", putting " +
                      std::to_string(holds) + " holds into a space");
    store.fill(space.filled, holds);
    // The same server, so that the turns differ only in the space.
    std::vector<Racer> lanes;
    for (const Url* url : {&space.filled, &space.url}) {
      lanes.push_back({.group = std::make_shared<Group>(*url, lockset_rival, Group::Size{}),
                       .order = {},
                       .floor = {},
                       .labels = {}});
    }
    lanes[0].labels["holds"] = holds;
    const auto results = race(notebook, space, many_held_workload, lanes);
    auto json = measurement(space, many_held_workload, lanes, results, 0);
    if (json.is_null()) continue;
    const auto costs =
        by_turn(results[1], results[0], [](const Turn& turn) { return turn.per_second; });
    if (!costs.empty()) json["cost"] = spread(costs);
    notebook.record(std::move(json));
  }
  notebook.progress(space.id + ": " + std::string(many_held_workload) + ", emptying the space");
  store.fill(space.filled, 0);
}

}  // namespace lockset::bench
