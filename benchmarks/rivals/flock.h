// What shell scripts and cron jobs use: flock(2), one file per name.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "benchmarks/rivals/rival.h"

namespace lockset::bench {

// Takes the locks of a set in the order of their names. The files are made on demand and stay.
// REQUIRES: `folder` exists.
std::unique_ptr<Entry> enter_flock(std::string folder);

inline constexpr std::size_t most_flocks = 64;

}  // namespace lockset::bench
