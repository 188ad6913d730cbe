// The measured lock spaces: each is separate from the one that the address names, so that nobody's
// locks are touched.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/rivals/rival.h"
#include "lockset/clock.h"
#include "lockset/url.h"

namespace lockset::bench {

struct Target {
  std::string id;                     // for people: "postgresql serializable"
  const RivalStore* store = nullptr;  // never destroyed
  Url url;     // "jobs" becomes "jobs_bench"; the name of a file gets "-bench"
  Url filled;  // a second one, to be filled with holds: "jobs_bench_full"
};

// Each operand is an address, or NAME=ADDRESS to distinguish two of the same kind. `complaints`
// gets a line for each one that is left out: given twice, or not an address of a store of this
// build.
std::vector<Target> spaces(std::span<const std::string> operands,
                           std::vector<std::string>& complaints);

// Whether holds of nobody can be put into its second space.
bool can_fill(const Target& space);
// Makes both spaces, and what the rivals need. `max_overtakes`: of the first space, if given and
// the store keeps a bound. Throws std::runtime_error with one line.
void prepare(const Target& space, std::optional<std::uint32_t> max_overtakes = {});
// Lets many readers share each name of the first space. Throws std::runtime_error.
void permit_readers(const Target& space);
// Removes everything except lock spaces, but files of spaces too. The spaces of a server stay,
// empty.
void clean(const Target& space);

}  // namespace lockset::bench
