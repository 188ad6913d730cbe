// The measurements of lockset-bench, as the reports read them. Missing parts and parts of the wrong
// kind are left out: a report shows what there is.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockset::bench {

using Json = nlohmann::ordered_json;

// A value over the turns of a measurement. Without a range if it was counted once, over all turns.
struct Spread {
  double median = 0;
  std::optional<double> low;
  std::optional<double> high;
};

// In microseconds.
struct Latency {
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

struct Fairness {
  double least = 0;
  double most = 0;
  double longest_wait_us = 0;
};

struct Measurement {
  std::string workload;
  std::string space;
  std::string rival;
  std::string role;  // "lockset", "floor" or "native"
  std::uint64_t clients = 0;
  std::uint64_t processes = 0;
  std::uint64_t names = 0;
  std::uint64_t holds = 0;
  std::size_t repetitions = 0;

  std::vector<double> rates;  // cycles per second of each turn; 0: not known
  std::optional<Spread> per_second;
  std::optional<Spread> ratio;
  std::optional<Spread> cpu_us;
  std::optional<Latency> lock_us;
  std::optional<Latency> cycle_us;
  std::optional<double> collided;  // share of grants after a collision

  std::optional<Spread> cost;
  std::optional<Latency> handover_us;
  std::optional<Spread> handover_cost;
  std::optional<Fairness> fairness;
  std::optional<double> attempts_per_grant;
  std::string among;  // of starving: "singles" or "readers"
  std::optional<double> grants;
  std::optional<double> longest_wait_us;
  std::optional<Spread> others_per_second;
  std::optional<double> renewals;
  std::optional<Spread> cpu_share;
  std::optional<Spread> slowdown;
  std::optional<Spread> slowdown_p99;
  std::optional<Spread> recovery_ms;
  std::optional<double> lease_ms;
};

struct Space {
  std::string id;
  std::string scheme;
  std::string url;
  std::vector<std::pair<std::string, std::string>> settings;
};

struct FailedRun {
  std::string space;
  std::string workload;
  std::string why;
};

struct Results {
  std::string version;
  std::string began;
  double seconds = 0;
  bool interrupted = false;
  bool quick = false;
  std::uint64_t repetitions = 0;
  double slice_seconds = 0;
  std::vector<std::pair<std::string, std::string>> machine;
  std::vector<Space> spaces;
  std::vector<FailedRun> failures;
  std::vector<Measurement> measurements;
};

// Throws std::runtime_error, with one line, if this is no run of lockset-bench at all.
Results read_results(const Json& json);

}  // namespace lockset::bench
