// A part of a migration's course, with its times.
#pragma once

#include <cstddef>
#include <optional>

#include "lockset/clock.h"
#include "lockset/migration.h"
#include "tests/chaos/migration/pilot.h"

namespace lockset::chaos {

// A leg, or the step that led to the next leg. They follow each other without gaps.
struct Span {
  std::optional<Pilot::Step> step;  // unset: a leg
  MigrationPhase phase{};           // for a step, the phase that it led to
  TimePoint from;
  TimePoint to;
  std::size_t restarts = 0;
  // How many faults of the old and of the new store began during it.
  std::size_t faults_of_old = 0;
  std::size_t faults_of_new = 0;
};

}  // namespace lockset::chaos
