// The command line of lockset-bench.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "benchmarks/workloads/workload.h"

namespace lockset::bench {

struct Options {
  bool help = false;
  Plan plan;
  std::vector<Workload> chosen;
  std::vector<std::string> addresses;  // operands, and the addresses of --urls
  std::filesystem::path results;       // of `report`; empty: measure
  std::filesystem::path json;          // empty: none
  std::filesystem::path html;
};

// Throws tools::Failure.
Options parse_options(const std::vector<std::string>& words);

std::string help();

}  // namespace lockset::bench
