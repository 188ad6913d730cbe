// The combined result of several turns of one measurement.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace lockset::bench {

// {"median": .., "low": .., "high": ..}, for at least one value.
nlohmann::ordered_json spread(std::vector<double> values);

}  // namespace lockset::bench
