// What the processes of a hammer wrote down, and whether it keeps the promises.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::conformance {

// From `begin` to `end`, in nanoseconds of BootClock, it was surely held and valid.
struct HeldFor {
  Stamp stamp;
  std::vector<LockRequest> items;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Story {
  std::map<Stamp, HeldFor> holds;
  std::size_t timeouts = 0;
  std::size_t troubles = 0;  // lines of a store that was away (see hammer_worker.h)
  Duration longest_wait{};   // of an acquire that was granted

  // Adds what one process wrote. An error, and a stamp that was granted twice, are failures of
  // the test.
  void read(const std::filesystem::path& path);
  // No grant at all from one to the next, the first and the last apart.
  [[nodiscard]] Duration longest_stall() const;
};

// Every fifth of the names has these, the others have 1; write permits are 1.
inline constexpr std::uint32_t hammer_readers = 3;
bool has_hammer_readers(const std::string& name);

// SEM 4, 20: no two in conflict at once. SEM 8: the later one has the greater stamp. Anything
// else is a failure of the test. The number of conflicts that were settled in the right order.
std::size_t check(const Story& story);

}  // namespace lockset::conformance
