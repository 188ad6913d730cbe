#include "benchmarks/workloads/race.h"

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "benchmarks/measure/spread.h"
#include "benchmarks/rivals/lockset_rival.h"

namespace lockset::bench {
namespace {

// Answers of a slice may be late by the time that the store takes, and waiters have to be served
// first.
constexpr Duration patience = std::chrono::seconds(120);

// When a slice of this many processes can begin: they need time to get the order.
TimePoint soon(std::size_t processes) {
  return BootClock::now() + std::chrono::milliseconds(5 + 2 * processes);
}

}  // namespace

Group::Group(const Url& url, const Rival& rival, Size size, bool count_events)
    : rival_(rival), size_(size) {
  size_.processes = std::min(size_.processes, size_.clients);
  std::size_t first = 0;
  for (std::size_t i = 0; i < size_.processes; ++i) {
    const std::size_t end = size_.clients * (i + 1) / size_.processes;
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->order({{"do", "enter"},
                            {"url", url.text},
                            {"rival", rival.name},
                            {"clients", end - first},
                            {"first", first},
                            {"events", count_events}});
    first = end;
  }
  for (const auto& worker : workers_) worker->answer();
}

Group::~Group() {
  for (const auto& worker : workers_) worker->dismiss();
}

CycleResult Group::run(CycleOrder order, Duration length) {
  start(order, soon(workers_.size()), length);
  return finish();
}

std::pair<CycleResult, CycleResult> Group::run_beside(Group& others, CycleOrder order,
                                                      CycleOrder others_order, Duration length) {
  const TimePoint begin = soon(workers_.size() + others.workers_.size());
  others.start(others_order, begin, length);
  start(order, begin, length);
  // All of them have ended on return, even if one group failed.
  CycleResult theirs;
  std::exception_ptr trouble;
  try {
    theirs = others.finish();
  } catch (const std::exception&) {
    trouble = std::current_exception();
  }
  CycleResult own = finish();
  if (trouble) std::rethrow_exception(trouble);
  return {std::move(own), std::move(theirs)};
}

void Group::start(CycleOrder order, TimePoint begin, Duration length) {
  order.begin_ns = begin.time_since_epoch().count();
  order.length_ns = length.count();
  nlohmann::json text = order;
  text["do"] = "cycle";
  for (const auto& worker : workers_) worker->order(text);
}

CycleResult Group::finish() {
  CycleResult all;
  std::exception_ptr trouble;
  for (const auto& worker : workers_) {
    try {
      all.add(worker->answer(patience).get<CycleResult>());
    } catch (const std::exception&) {
      if (!trouble) trouble = std::current_exception();
    }
  }
  if (trouble) std::rethrow_exception(trouble);
  return all;
}

std::vector<LaneResult> race(Notebook& notebook, const Target& space, std::string_view workload,
                             const std::vector<Racer>& lanes, std::optional<int> repetitions) {
  const Plan& plan = notebook.plan();
  const int turns = repetitions.value_or(plan.repetitions);
  std::vector<LaneResult> results(lanes.size());
  struct Slice {
    CycleResult result;
    std::uint64_t others_cycles = 0;
  };
  const auto run = [&](std::size_t lane, Duration length) -> std::optional<Slice> {
    if (results[lane].failed) return {};
    const Racer& racer = lanes[lane];
    try {
      if (racer.others == nullptr) return Slice{racer.group->run(racer.order, length)};
      auto [own, theirs] =
          racer.group->run_beside(*racer.others, racer.order, racer.others_order, length);
      return Slice{std::move(own), theirs.cycles};
    } catch (const std::exception& error) {
      results[lane] = {.turns = {}, .all = {}, .failed = true};
      notebook.failed(space, workload,
                      std::string(lanes[lane].group->rival().name) + ": " + error.what());
      return {};
    }
  };
  // Prepares statements and fetches pages before the measurement.
  for (std::size_t lane = 0; lane < lanes.size() && !notebook.interrupted(); ++lane) {
    run(lane, plan.slice / 4);
  }
  const auto length = [&](std::size_t lane) { return lanes[lane].slice.value_or(plan.slice); };
  for (int turn = 0; turn < turns; ++turn) {
    notebook.progress(space.id + ": " + std::string(workload) + ", turn " +
                      std::to_string(turn + 1) + " of " + std::to_string(turns));
    std::vector<std::optional<Slice>> slices(lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      // A turn counts only if all have finished it.
      if (notebook.interrupted()) return results;
      const std::size_t lane = (i + static_cast<std::size_t>(turn)) % lanes.size();
      slices[lane] = run(lane, length(lane));
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      if (results[lane].failed || !slices[lane]) continue;
      CycleResult& slice = slices[lane]->result;
      const double seconds = std::chrono::duration<double>(length(lane)).count();
      const double cycles = static_cast<double>(slice.cycles);
      const double cpu_us = cycles > 0 ? slice.cpu_seconds / cycles * 1e6 : 0;
      results[lane].turns.push_back({cycles / seconds, cpu_us, slice,
                                     static_cast<double>(slices[lane]->others_cycles) / seconds});
      slice.moments.clear();
      results[lane].all.add(slice);
    }
  }
  return results;
}

std::vector<double> by_turn(const LaneResult& one, const LaneResult& other,
                            double (*value)(const Turn&)) {
  std::vector<double> result;
  for (std::size_t turn = 0; turn < std::min(one.turns.size(), other.turns.size()); ++turn) {
    const double divisor = value(other.turns[turn]);
    if (divisor > 0) result.push_back(value(one.turns[turn]) / divisor);
  }
  return result;
}

nlohmann::ordered_json measurement(const Target& space, std::string_view workload,
                                   const std::vector<Racer>& lanes,
                                   const std::vector<LaneResult>& results, std::size_t lane) {
  const LaneResult& result = results[lane];
  if (result.turns.empty()) return nullptr;
  const Group& group = *lanes[lane].group;
  static constexpr std::string_view roles[] = {"lockset", "floor", "native"};
  nlohmann::ordered_json json = {{"workload", workload},
                                 {"space", space.id},
                                 {"rival", group.rival().name},
                                 {"role", roles[static_cast<std::size_t>(group.rival().role)]},
                                 {"clients", group.size().clients},
                                 {"processes", group.size().processes},
                                 {"names", lanes[lane].order.names},
                                 {"holds", 0}};
  std::vector<double> ratios;
  if (lanes[lane].floor) {
    ratios = by_turn(result, results[*lanes[lane].floor],
                     [](const Turn& turn) { return turn.per_second; });
  }
  std::vector<double> speeds;
  std::vector<double> cpus;
  auto repetitions = nlohmann::ordered_json::array();
  for (std::size_t turn = 0; turn < result.turns.size(); ++turn) {
    speeds.push_back(result.turns[turn].per_second);
    cpus.push_back(result.turns[turn].cpu_us);
    repetitions.push_back({{"per_second", speeds.back()}, {"cpu_us", cpus.back()}});
    if (turn < ratios.size()) repetitions.back()["ratio"] = ratios[turn];
  }
  json["repetitions"] = std::move(repetitions);
  json["per_second"] = spread(speeds);
  if (!ratios.empty()) json["ratio"] = spread(ratios);
  json["cpu_us"] = spread(cpus);
  json["lock_us"] = summary_us(result.all.lock);
  json["unlock_us"] = summary_us(result.all.unlock);
  json["cycle_us"] = summary_us(result.all.cycle);
  if (!result.all.events.empty()) {
    // Includes events that did not occur.
    json["events"] = {{"granted", 0}, {"busy", 0}, {"collided", 0}, {"retried", 0}};
    for (const auto& [kind, times] : result.all.events) json["events"][kind] = times;
  }
  if (!lanes[lane].labels.is_null()) json.update(lanes[lane].labels);
  return json;
}

void race_and_record(Notebook& notebook, const Target& space, std::string_view workload,
                     const std::vector<Racer>& lanes) {
  const auto results = race(notebook, space, workload, lanes);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    auto json = measurement(space, workload, lanes, results, lane);
    if (!json.is_null()) notebook.record(std::move(json));
  }
}

std::vector<Racer> against_floor(std::vector<std::shared_ptr<Group>> groups) {
  std::optional<std::size_t> floor;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i]->rival().role == Role::floor) floor = i;
  }
  std::vector<Racer> lanes;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    lanes.push_back({.group = std::move(groups[i]), .order = {}, .floor = {}, .labels = {}});
    if (i != floor) lanes.back().floor = floor;
  }
  return lanes;
}

std::vector<std::shared_ptr<Group>> groups(Notebook& notebook, const Target& space,
                                           std::string_view workload, Group::Size size,
                                           bool (*fits)(const Rival&), bool count_events) {
  std::vector<std::shared_ptr<Group>> result;
  const auto add = [&](const Rival& rival) {
    if (!fits(rival) || notebook.interrupted()) return;
    const bool count = count_events && rival.role == Role::lockset;
    try {
      result.push_back(std::make_shared<Group>(space.url, rival, size, count));
    } catch (const std::exception& error) {
      notebook.failed(space, workload, std::string(rival.name) + ": " + error.what());
    }
  };
  add(lockset_rival);
  for (const Rival& rival : space.store->rivals) add(rival);
  return result;
}

}  // namespace lockset::bench
