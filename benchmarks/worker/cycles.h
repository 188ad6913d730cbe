// Clients in a loop: lock, hold, unlock, again. Their orders and their results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "benchmarks/measure/histogram.h"
#include "benchmarks/rivals/rival.h"
#include "lockset/clock.h"

namespace lockset::bench {

struct CycleOrder {
  std::int64_t begin_ns = 0;  // BootClock, which all processes share
  std::int64_t length_ns = 0;
  std::size_t names = 1;   // per set
  std::size_t shared = 0;  // 0: each client has its own names; else sets are chosen among this many
  double reads = 0;        // the share of sets that are locked for reading
  std::int64_t hold_us = 0;  // between lock and unlock
  bool trace = false;        // keep the moments of each cycle
};

// Moments of BootClock, in nanoseconds.
struct Moments {
  std::int64_t asked = 0;
  std::int64_t granted = 0;
  std::int64_t released = 0;  // when unlock returned
};

struct CycleResult {
  std::uint64_t cycles = 0;  // cycles that ended in time
  Histogram lock;
  Histogram unlock;
  Histogram cycle;
  double cpu_seconds = 0;              // used by the process
  std::vector<std::uint64_t> clients;  // cycles of each client
  std::vector<Moments> moments;
  std::map<std::string, std::uint64_t> events;

  void add(const CycleResult& other);
};

// Runs the clients, each in its own thread. They are closed loops: the next cycle begins when the
// last one ended, so a stall of the store delays the cycles that would have come meanwhile
// (coordinated omission). Latencies are those of the requests that were made, not of a given rate.
// `first` is the number of the first client, among those of all processes. Throws
// std::runtime_error with the first error of any client.
CycleResult run_cycles(std::span<const std::unique_ptr<Client>> clients, std::size_t first,
                       const CycleOrder& order);

// Used by all threads of this process so far.
double cpu_seconds() noexcept;

void to_json(nlohmann::json& json, const CycleOrder& order);
void from_json(const nlohmann::json& json, CycleOrder& order);
void to_json(nlohmann::json& json, const CycleResult& result);
void from_json(const nlohmann::json& json, CycleResult& result);

}  // namespace lockset::bench
