// The workloads. Each one is a file of this folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/space.h"
#include "lockset/clock.h"

namespace lockset::bench {

// The size of the measurement.
struct Plan {
  bool quick = false;
  int repetitions = 5;
  Duration slice = std::chrono::milliseconds(500);
  std::vector<std::size_t> clients;    // for disjoint
  std::vector<std::size_t> set_sizes;  // begins with 1
  std::vector<std::size_t> waiters;    // for contended
  std::vector<std::uint64_t> holds;    // for many-held, rising
  std::uint64_t renewed = 0;           // the number of holds for renewal
  Duration renewal_lease{};
  Duration crash_lease{};
  Duration starving_slice{};  // longer than a wait may be
  int starving_turns = 0;
  // For contended with a crowd: long enough to serve each client several times.
  Duration crowd_slice{};
  int crowd_turns = 0;
  std::optional<std::uint32_t> max_overtakes{};  // of the spaces; none: their default
};
Plan quick_plan();
Plan full_plan();

// The input of the workloads, and the place for their measurements.
class Notebook {
 public:
  virtual ~Notebook() = default;
  [[nodiscard]] virtual const Plan& plan() const = 0;
  // A person wants to stop: end soon, and record the results so far.
  [[nodiscard]] virtual bool interrupted() const = 0;
  // Reports what is being done, for a person who watches.
  virtual void progress(const std::string& what) = 0;
  // Adds a measurement, as docs/benchmarks.md describes it.
  virtual void record(nlohmann::ordered_json measurement) = 0;
  // Something could not be measured; the rest continues.
  virtual void failed(const Target& space, std::string_view workload, const std::string& why) = 0;
};

struct Workload {
  std::string_view name;
  std::string_view what;  // one line for --help
  // Throws std::runtime_error if nothing of it can be measured on this space.
  void (*run)(Notebook& notebook, const Target& space);
};

// In the order in which they run.
std::span<const Workload> workloads() noexcept;

void uncontended(Notebook& notebook, const Target& space);
void disjoint(Notebook& notebook, const Target& space);
void set_size(Notebook& notebook, const Target& space);
void read_mostly(Notebook& notebook, const Target& space);
void contended(Notebook& notebook, const Target& space);
void starving(Notebook& notebook, const Target& space);
void many_held(Notebook& notebook, const Target& space);
void renewal(Notebook& notebook, const Target& space);
void crash(Notebook& notebook, const Target& space);

}  // namespace lockset::bench
