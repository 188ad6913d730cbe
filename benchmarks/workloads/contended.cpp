#include <algorithm>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"
#include "benchmarks/workloads/race.h"

namespace lockset::bench {
namespace {

constexpr std::string_view contended_workload = "contended";
// Long enough that served clients queue again before the next hand-over.
constexpr std::int64_t hold_us = 1000;
// A crowd consists of threads in some processes. Only Lockset has one, because few servers give
// every client of a crowd a connection.
constexpr std::size_t crowd = 100;
constexpr std::size_t crowd_processes = 4;

// From the return of each release to the return of the next lock(), if that one was waiting. A
// value below 0 (the next client was told first) counts as 0.
Histogram handovers(std::vector<Moments> moments) {
  std::sort(moments.begin(), moments.end(),
            [](const Moments& a, const Moments& b) { return a.granted < b.granted; });
  Histogram result;
  for (std::size_t i = 1; i < moments.size(); ++i) {
    const std::int64_t released = moments[i - 1].released;
    if (moments[i].asked < released) result.add(Duration(moments[i].granted - released));
  }
  return result;
}

// For the turns before the moments were removed from `result.all`.
nlohmann::ordered_json fairness(const LaneResult& result) {
  std::vector<std::uint64_t> served;
  for (const Turn& turn : result.turns) {
    const auto& clients = turn.result.clients;
    served.resize(std::max(served.size(), clients.size()));
    for (std::size_t i = 0; i < clients.size(); ++i) served[i] += clients[i];
  }
  const auto [least, most] = std::minmax_element(served.begin(), served.end());
  return {{"least", *least},
          {"most", *most},
          {"longest_wait_us", static_cast<double>(result.all.lock.max().count()) / 1000}};
}

void run(Notebook& notebook, const Target& space, std::size_t clients) {
  const bool shared = space.url.scheme != "memory";
  const bool crowded = clients >= crowd;
  const std::size_t processes = !shared ? 1 : crowded ? crowd_processes : clients;
  const auto waits = [](const Rival& rival) { return rival.waits; };
  const auto lockset_only = [](const Rival& rival) { return rival.role == Role::lockset; };
  std::vector<Racer> lanes;
  std::vector<std::size_t> alone;  // for each contended lane, the lane of the same rival alone
  for (auto& group : groups(notebook, space, contended_workload, {clients, processes},
                            crowded ? +lockset_only : +waits, true)) {
    Racer lane{.group = std::move(group), .order = {}, .floor = {}, .labels = {}};
    lane.order.shared = 1;
    lane.order.hold_us = hold_us;
    lane.order.trace = true;
    if (crowded) lane.slice = notebook.plan().crowd_slice;
    lanes.push_back(lane);
    lane.order = {};
    lane.slice.reset();
    lane.group = std::make_shared<Group>(space.url, lane.group->rival(), Group::Size{});
    lanes.push_back(std::move(lane));
  }
  const auto turns = crowded ? std::optional(notebook.plan().crowd_turns) : std::nullopt;
  const auto results = race(notebook, space, contended_workload, lanes, turns);
  for (std::size_t lane = 0; lane < lanes.size(); lane += 2) {
    auto json = measurement(space, contended_workload, lanes, results, lane);
    if (json.is_null()) continue;
    Histogram all;
    std::vector<double> costs;
    for (std::size_t turn = 0; turn < results[lane].turns.size(); ++turn) {
      const Histogram of_turn = handovers(results[lane].turns[turn].result.moments);
      all.add(of_turn);
      if (turn >= results[lane + 1].turns.size() || of_turn.count() == 0) continue;
      const double uncontended = results[lane + 1].turns[turn].result.lock.percentile_us(0.5);
      if (uncontended > 0) costs.push_back(of_turn.percentile_us(0.5) / uncontended);
    }
    json["handover_us"] = summary_us(all);
    if (!costs.empty()) json["handover_cost"] = spread(costs);
    json["fairness"] = fairness(results[lane]);
    const auto& events = results[lane].all.events;
    const auto granted = events.find("granted");
    if (granted != events.end() && granted->second > 0) {
      const auto busy = events.find("busy");
      const double times = busy == events.end() ? 0 : static_cast<double>(busy->second);
      json["attempts_per_grant"] = 1 + times / static_cast<double>(granted->second);
    }
    notebook.record(std::move(json));
  }
}

}  // namespace

void contended(Notebook& notebook, const Target& space) {
  for (const std::size_t clients : notebook.plan().waiters) {
    if (!notebook.interrupted()) run(notebook, space, clients);
  }
}

}  // namespace lockset::bench
