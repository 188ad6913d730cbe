// The results of a run for each part of its course: grants, the longest time without one, the
// duration of an acquire, and the acquires that failed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history/event.h"
#include "tests/chaos/migration/failures.h"
#include "tests/chaos/migration/journey.h"
#include "tests/chaos/migration/span.h"

namespace lockset::chaos {

// For acquires that were granted at the first try.
struct Latency {
  std::size_t count = 0;
  Duration median{};
  Duration p99{};
};

struct Figures {
  std::uint64_t grants = 0;
  // For all processes together; of the times without a grant that began in this part.
  Duration longest_without_grant{};
  // By the configuration of the asking process.
  std::array<Latency, way_count> tries;
  // Acquires that failed, by reason (without numbers in it); and how many of them the run does not
  // explain.
  std::map<std::string, std::size_t> failures;
  std::size_t unexplained = 0;
};

// For each of `spans`.
std::vector<Figures> figures_of(const history::History& history, const std::vector<Span>& spans,
                                const std::map<std::string, Way>& ways,
                                const std::vector<FailedCall>& failures);

// For the whole run: from the first grant to the last.
Duration longest_without_grant(const history::History& history);

}  // namespace lockset::chaos
