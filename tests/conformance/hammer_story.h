// What the processes of a hammer run wrote, and whether it keeps the promises.
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

// Certainly held and valid from `begin` to `end`, in nanoseconds of BootClock.
struct HeldFor {
  Stamp stamp;
  std::vector<LockRequest> items;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

struct Story {
  std::map<Stamp, HeldFor> holds;
  std::size_t timeouts = 0;
  std::size_t troubles = 0;  // lines about a store that did not answer (see hammer_worker.h)
  Duration longest_wait{};   // of the acquires that were granted

  // Adds what one process wrote. An error, or a stamp that was granted twice, fails the test.
  void read(const std::filesystem::path& path);
  // The longest time without any grant, not counting before the first and after the last.
  [[nodiscard]] Duration longest_stall() const;
};

// The read permits of every fifth name; the other names have 1. Write permits are 1.
inline constexpr std::uint32_t hammer_readers = 3;
bool has_hammer_readers(const std::string& name);

// SEM 4, 20: no two conflicting holds at once. SEM 8: the later hold has the greater stamp.
// Anything else fails the test. Returns the number of conflicts that were settled in the right
// order.
std::size_t check(const Story& story);

}  // namespace lockset::conformance
