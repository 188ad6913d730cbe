// Verdicts on the performance promises P1 to P12 by the measurements. The median decides; the
// spread is shown next to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/report/results.h"

namespace lockset::bench {

// With fewer turns than this a verdict is weak, and says so.
inline constexpr std::size_t enough_repetitions = 5;

enum class Unit : std::uint8_t {
  share,    // 0.81 of the floor's value
  times,    // 1.3 times as long
  percent,  // a share that is shown as one: 0.013 is 1.3%
  microseconds,
  milliseconds,
  count,
};

enum class Verdict : std::uint8_t {
  aim,   // as good as the aim
  must,  // kept, but the aim is missed or none is set
  missed,
  not_measured,  // in this run
  none,          // nothing is promised here; the number is only for comparison
};

struct Promise {
  std::string id;  // "P1"
  std::string what;
  std::string space;
  Unit unit = Unit::share;
  std::optional<double> must;
  std::optional<double> aim;
  std::optional<Spread> measured;
  bool more_is_better = false;
  Verdict verdict = Verdict::not_measured;
  std::size_t repetitions = 0;  // 0: counted once, over all turns
  std::string note;             // "" or a remark on this number
};

// Ordered by promise, then in the order of the spaces.
std::vector<Promise> judge(const Results& results);

// The same as "promises" of the results' JSON.
Json promises(const Json& results);

std::string_view to_string(Unit unit) noexcept;  // "share", "times", "percent", "us", "ms", "count"
std::string_view to_string(Verdict verdict) noexcept;  // "not measured"

}  // namespace lockset::bench
