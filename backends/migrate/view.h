// What is known of both stores' configurations, and what it means together. Pure.
//
// Plain values; thread-safe.
#pragma once

#include <optional>

#include "lockset/migration_phase.h"
#include "lockset/space_config.h"

namespace lockset::migrate {

struct Stage {
  MigrationPhase phase = MigrationPhase::old_only;
  bool switching = false;       // nobody takes anything for the moment
  std::uint32_t migration = 0;  // 0 in old-only
  bool operator==(const Stage&) const = default;
};

// What two configurations say together; unset: not known. Errc::unavailable if the other one has
// to be known as well, Errc::misconfigured for two that don't belong together: then the remedy is
// to read both again, for each step of a migration changes one of them.
Result<Stage> stage_of(const std::optional<SpaceConfig>& old_config,
                       const std::optional<SpaceConfig>& new_config);

// Whether holds of the phase stand in the old and in the new store.
constexpr bool in_old(MigrationPhase phase) { return phase <= MigrationPhase::dual_new; }
constexpr bool in_new(MigrationPhase phase) { return phase >= MigrationPhase::dual_old; }
constexpr bool in_both(MigrationPhase phase) { return in_old(phase) && in_new(phase); }

// Both configurations at one time, as one client has read them.
struct View {
  Stage stage;
  std::optional<SpaceConfig> old_config;
  std::optional<SpaceConfig> new_config;
  // What the core is told. Its version stands for the two versions together in this process.
  SpaceConfig together;
};

// Permits and longest lease as they apply in this phase: the lower ones where both stores count.
// The version is the sum of theirs, the migration phase 0; epochs are left out.
SpaceConfig put_together(MigrationPhase phase, const std::optional<SpaceConfig>& old_config,
                         const std::optional<SpaceConfig>& new_config);

}  // namespace lockset::migrate
