// The events of a migration's course and their order: a plan, without any I/O.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lockset/migration.h"

namespace lockset::chaos {

// How a process is configured: with the address of the old store, of both, or of the new one.
enum class Way : std::uint8_t { old_store, both, new_store };
inline constexpr std::size_t way_count = 3;
// "old", "migrate", "new".
std::string_view to_string(Way way) noexcept;

// Whether processes with this configuration get grants in this phase.
bool serves(MigrationPhase phase, Way way) noexcept;

enum class Act : std::uint8_t { start, advance, roll_back, finish };
// "start", "advance", "rollback", "finish".
std::string_view to_string(Act act) noexcept;

// Workers first to last (excluded) are restarted one by one with this configuration.
struct Restart {
  Way way{};
  std::size_t first = 0;
  std::size_t last = 0;
  bool operator==(const Restart&) const = default;
};

// One phase for a while.
struct Leg {
  // The step from the leg before; unset: this is the first.
  std::optional<Act> act{};
  MigrationPhase phase{};
  // In this order.
  std::vector<Restart> restarts{};
  // Processes with these configurations are started in addition, and have to be refused.
  std::vector<Way> refused{};
  // Processes with these configurations work in addition, until they are stopped at the end of the
  // leg...
  std::vector<Way> sleepers{};
  // ... and this many of them are continued in this leg, too late: they have to be refused.
  std::vector<Way> woken{};
};

// From old_only to finished. `back_from`, dual_new or new_only: goes to that phase, back to
// old_only, and forward again. At the end some of the processes are still configured with both
// addresses.
std::vector<Leg> journey(std::size_t processes, std::optional<MigrationPhase> back_from);

}  // namespace lockset::chaos
