// Runs the rivals in turns: A B C, B C A, C A B. So a slow moment of the machine affects all of
// them, and only ratios within a turn count.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmarks/rivals/rival.h"
#include "benchmarks/worker/worker.h"
#include "benchmarks/workloads/workload.h"

namespace lockset::bench {

// The connected clients of one rival, in one or more processes.
class Group {
 public:
  struct Size {
    std::size_t clients = 1;
    std::size_t processes = 1;  // at most `clients`, which are distributed evenly
  };
  // Throws std::runtime_error if it can't connect. `count_events`: only for Lockset.
  Group(const Url& url, const Rival& rival, Size size, bool count_events = false);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  // One slice: all clients begin at the same moment. Throws std::runtime_error.
  CycleResult run(CycleOrder order, Duration length);
  // The same, with the clients of `others` at the same time: the results of both.
  std::pair<CycleResult, CycleResult> run_beside(Group& others, CycleOrder order,
                                                 CycleOrder others_order, Duration length);

  [[nodiscard]] const Rival& rival() const noexcept { return rival_; }
  [[nodiscard]] Size size() const noexcept { return size_; }

 private:
  void start(CycleOrder order, TimePoint begin, Duration length);
  CycleResult finish();

  const Rival& rival_;
  Size size_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

struct Racer {
  std::shared_ptr<Group> group;
  CycleOrder order;                  // without begin and length
  std::optional<std::size_t> floor;  // the lane that is the basis of "ratio"
  nlohmann::ordered_json labels;     // added to the measurement: {"holds": 100}; null: none
  // Others of the same rival that run at the same time; null: none.
  std::shared_ptr<Group> others = nullptr;
  CycleOrder others_order = {};
  std::optional<Duration> slice = std::nullopt;  // instead of the plan's
};

struct Turn {
  double per_second = 0;
  double cpu_us = 0;  // used by the clients, per cycle
  CycleResult result;
  double others_per_second = 0;
};

struct LaneResult {
  std::vector<Turn> turns;  // as many as all lanes without a failure have
  CycleResult all;          // over all turns; without moments
  bool failed = false;
};

// Runs the turns. Reports failing lanes to the notebook and leaves them out from then on. Fewer
// turns if interrupted. `repetitions`: instead of the plan's.
std::vector<LaneResult> race(Notebook& notebook, const Target& space, std::string_view workload,
                             const std::vector<Racer>& lanes,
                             std::optional<int> repetitions = std::nullopt);

// What every workload records about a lane; null if it has no turn.
nlohmann::ordered_json measurement(const Target& space, std::string_view workload,
                                   const std::vector<Racer>& lanes,
                                   const std::vector<LaneResult>& results, std::size_t lane);

// Races and records all lanes.
void race_and_record(Notebook& notebook, const Target& space, std::string_view workload,
                     const std::vector<Racer>& lanes);

// For each turn of both lanes: `value` of one divided by that of the other.
std::vector<double> by_turn(const LaneResult& one, const LaneResult& other,
                            double (*value)(const Turn&));

// A lane for each group, all with one name, each with its ratio to the floor.
std::vector<Racer> against_floor(std::vector<std::shared_ptr<Group>> groups);

// Lockset, the floor, the natives of the space for which `fits` is true. A group that can't connect
// is reported to the notebook and left out.
std::vector<std::shared_ptr<Group>> groups(Notebook& notebook, const Target& space,
                                           std::string_view workload, Group::Size size,
                                           bool (*fits)(const Rival&), bool count_events = false);

}  // namespace lockset::bench
