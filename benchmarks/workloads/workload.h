// What is measured. Each workload is a file of this folder.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/space.h"
#include "lockset/clock.h"

namespace lockset::bench {

// How much of it.
struct Plan {
  bool quick = false;
  int repetitions = 5;
  Duration slice = std::chrono::milliseconds(500);
  std::vector<std::size_t> clients;    // of disjoint
  std::vector<std::size_t> set_sizes;  // begins with 1
  std::vector<std::size_t> waiters;    // of contended
  std::vector<std::uint64_t> holds;    // of many-held, rising
  std::uint64_t renewed = 0;           // holds of renewal
  Duration renewal_lease{};
  Duration crash_lease{};
};
Plan quick_plan();
Plan full_plan();

// What the workloads are given, and where they put what they measured.
class Notebook {
 public:
  virtual ~Notebook() = default;
  [[nodiscard]] virtual const Plan& plan() const = 0;
  // A person wants to stop: end soon, and record what there is.
  [[nodiscard]] virtual bool interrupted() const = 0;
  // What is going on, for a person who watches.
  virtual void progress(const std::string& what) = 0;
  // A measurement, as docs/benchmarks.md describes them.
  virtual void record(nlohmann::ordered_json measurement) = 0;
  // Something could not be measured; the rest goes on.
  virtual void failed(const Target& space, std::string_view workload, const std::string& why) = 0;
};

struct Workload {
  std::string_view name;
  std::string_view what;  // a line for --help
  // Throws std::runtime_error where nothing of it can be measured on this space.
  void (*run)(Notebook& notebook, const Target& space);
};

// In the order in which they run.
std::span<const Workload> workloads() noexcept;

void uncontended(Notebook& notebook, const Target& space);
void disjoint(Notebook& notebook, const Target& space);
void set_size(Notebook& notebook, const Target& space);
void read_mostly(Notebook& notebook, const Target& space);
void contended(Notebook& notebook, const Target& space);
void many_held(Notebook& notebook, const Target& space);
void renewal(Notebook& notebook, const Target& space);
void crash(Notebook& notebook, const Target& space);

}  // namespace lockset::bench
