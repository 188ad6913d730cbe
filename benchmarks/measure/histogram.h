// Counts latencies as HdrHistogram does (http://hdrhistogram.org): the width of the buckets grows
// with the value, so that each value is known to within 1 %.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "lockset/clock.h"

namespace lockset::bench {

// Not thread-safe.
class Histogram {
 public:
  void add(Duration value);
  void add(const Histogram& other);

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] Duration max() const noexcept { return max_; }
  // Exact. 0 if empty.
  [[nodiscard]] double mean_us() const noexcept;
  // The value that the share `part` (0 to 1) of all values does not exceed, to within 1 %; at most
  // max().
  [[nodiscard]] double percentile_us(double part) const noexcept;

  // In the form that add() reads.
  [[nodiscard]] nlohmann::json to_json() const;
  static Histogram from_json(const nlohmann::json& json);

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t sum_ns_ = 0;
  Duration max_{};
};

// {"p50": .., "p99": .., "p999": .., "max": .., "mean": .., "count": ..}, in microseconds.
nlohmann::ordered_json summary_us(const Histogram& histogram);

}  // namespace lockset::bench
