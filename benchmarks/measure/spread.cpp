#include "benchmarks/measure/spread.h"

#include <algorithm>

namespace lockset::bench {

nlohmann::ordered_json spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values.at(half) : (values.at(half - 1) + values.at(half)) / 2;
  return {{"median", median}, {"low", values.front()}, {"high", values.back()}};
}

}  // namespace lockset::bench
