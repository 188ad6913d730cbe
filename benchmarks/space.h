// The lock spaces that are measured: each has one of its own beside what an address names, so that
// nobody's locks are touched.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "benchmarks/rivals/rival.h"
#include "lockset/clock.h"
#include "lockset/url.h"

namespace lockset::bench {

struct Target {
  std::string id;                // for people: "postgresql serializable"
  const Store* store = nullptr;  // lives for ever
  Url url;     // "jobs" becomes "jobs_bench"; a file gets "-bench" behind its name
  Url filled;  // a second one, which holds are put into: "jobs_bench_full"
};

// Each operand is an address, or NAME=ADDRESS to tell two of the same kind apart. `complaints`
// gets a line for each that is left out: given twice, or not an address of a store of this build.
std::vector<Target> spaces(std::span<const std::string> operands,
                           std::vector<std::string>& complaints);

// Makes both spaces, and what the rivals need besides. Throws std::runtime_error with one line.
void prepare(const Target& space);
// Takes away what is not a lock space; files as well. The spaces of a server stay, and are empty.
void clean(const Target& space);

}  // namespace lockset::bench
