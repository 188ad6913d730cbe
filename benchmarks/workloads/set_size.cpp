#include "benchmarks/measure/spread.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view set_size_workload = "set-size";

}  // namespace

void set_size(Notebook& notebook, const Target& space) {
  const auto all = groups(notebook, space, set_size_workload, {},
                          [](const Rival& rival) { return rival.most_names > 1; });
  std::vector<Racer> lanes;
  std::vector<std::size_t> with_one;  // for each lane, the lane of the same rival with one name
  for (const auto& group : all) {
    const std::size_t one = lanes.size();
    for (const std::size_t names : notebook.plan().set_sizes) {
      if (names > group->rival().most_names) continue;
      Racer lane{.group = group, .order = {}, .floor = {}, .labels = {}};
      lane.order.names = names;
      lanes.push_back(std::move(lane));
      with_one.push_back(one);
    }
  }
  const auto results = race(notebook, space, set_size_workload, lanes);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    auto json = measurement(space, set_size_workload, lanes, results, lane);
    if (json.is_null()) continue;
    const auto costs = by_turn(results[with_one[lane]], results[lane],
                               [](const Turn& turn) { return turn.per_second; });
    if (!costs.empty()) json["cost"] = spread(costs);
    notebook.record(std::move(json));
  }
}

}  // namespace lockset::bench
