#include <stdexcept>

#include "benchmarks/measure/spread.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view starving_workload = "starving";
constexpr std::size_t others_count = 8;
// The readers nearly always overlap.
constexpr std::int64_t reader_hold_us = 5000;
constexpr std::int64_t short_hold_us = 1000;

// One client wants what the others together hardly ever leave free.
struct Case {
  std::string_view among;
  bool (*fits)(const Rival&);
  CycleOrder one;
  CycleOrder others;
};

Case set_among_singles() {
  Case result{
      .among = "singles",
      .fits = [](const Rival& rival) { return rival.waits && rival.most_names >= others_count; },
      .one = {},
      .others = {}};
  result.one.names = result.one.shared = result.others.shared = others_count;
  result.one.hold_us = result.others.hold_us = short_hold_us;
  return result;
}

Case writer_among_readers() {
  Case result{.among = "readers",
              .fits = [](const Rival& rival) { return rival.waits && rival.reads; },
              .one = {},
              .others = {}};
  result.one.shared = result.others.shared = 1;
  result.one.hold_us = short_hold_us;
  result.others.hold_us = reader_hold_us;
  result.others.reads = 1;
  return result;
}

void run(Notebook& notebook, const Target& space, const Case& what) {
  const Plan& plan = notebook.plan();
  const auto lockset_only = [](const Rival& rival) { return rival.role == Role::lockset; };
  std::vector<Racer> lanes;
  // Enough time for each rival: a turn is long. So a quick run has no natives.
  for (auto& group :
       groups(notebook, space, starving_workload, {}, plan.quick ? +lockset_only : what.fits)) {
    Racer lane{.group = std::move(group), .order = what.one, .floor = {}, .labels = {}};
    try {
      lane.others =
          std::make_shared<Group>(space.url, lane.group->rival(),
                                  Group::Size{.clients = others_count, .processes = others_count});
    } catch (const std::exception& error) {
      notebook.failed(space, starving_workload,
                      std::string(lane.group->rival().name) + ": " + error.what());
      continue;
    }
    lane.others_order = what.others;
    lane.slice = plan.starving_slice;
    lanes.push_back(std::move(lane));
  }
  const auto results = race(notebook, space, starving_workload, lanes, plan.starving_turns);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    auto json = measurement(space, starving_workload, lanes, results, lane);
    if (json.is_null()) continue;
    json["clients"] = 1 + others_count;
    json["processes"] = 1 + others_count;
    json["among"] = what.among;
    json["grants"] = results[lane].all.cycles;
    json["longest_wait_us"] = static_cast<double>(results[lane].all.lock.max().count()) / 1000;
    std::vector<double> others;
    for (const Turn& turn : results[lane].turns) others.push_back(turn.others_per_second);
    json["others_per_second"] = spread(others);
    notebook.record(std::move(json));
  }
}

}  // namespace

void starving(Notebook& notebook, const Target& space) {
  if (space.url.scheme == "memory") return;  // its clients are threads of one process
  permit_readers(space);
  for (const Case& what : {set_among_singles(), writer_among_readers()}) {
    if (!notebook.interrupted()) run(notebook, space, what);
  }
}

}  // namespace lockset::bench
