// Acquires that failed, and whether the run gave a reason for it. An operation that fails without a
// reason is lost.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "history/event.h"
#include "tests/chaos/migration/span.h"

namespace lockset::chaos {

struct FailedCall {
  TimePoint time;
  std::string process;
  std::string text;        // "unavailable: the store does not answer"
  bool explained = false;  // trouble at that time explains it
};

// The failures that the processes printed into `output`, one file each, as recorded_locks.h says.
// Trouble is a stop of the process itself (of any process, if `stops_hinder_all`), a fault of a
// store, and a step that switches the phase; also a moment after each of them.
std::vector<FailedCall> failures_of(const std::filesystem::path& output,
                                    const history::History& history, const std::vector<Span>& spans,
                                    bool stops_hinder_all);

// What is wrong if more than one acquire in a hundred failed without an explanation. Fewer are
// tolerated and reported: on a busy machine a store may not answer in time, or have no connection
// left.
std::optional<std::string> too_many_lost(const std::vector<FailedCall>& failures,
                                         const history::History& history);

}  // namespace lockset::chaos
