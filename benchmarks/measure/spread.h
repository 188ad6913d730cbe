// What several turns of the same measurement say together.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace lockset::bench {

// {"median": .., "low": .., "high": ..}, of at least one value.
nlohmann::ordered_json spread(std::vector<double> values);

}  // namespace lockset::bench
