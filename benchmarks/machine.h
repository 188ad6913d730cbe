// The machine on which the numbers were measured.
#pragma once

#include <nlohmann/json.hpp>

namespace lockset::bench {

// {"processor", "cores", "memory_gib", "kernel", "compiler", "build"}
nlohmann::ordered_json machine();

}  // namespace lockset::bench
