// What is known about both stores' configurations, and what they mean together. Pure.
//
// Plain values; thread-safe.
#pragma once

#include <optional>

#include "lockset/migration_phase.h"
#include "lockset/space_config.h"

namespace lockset::migrate {

struct Stage {
  MigrationPhase phase = MigrationPhase::old_only;
  bool switching = false;       // nothing is granted for the moment
  std::uint32_t migration = 0;  // 0 in old-only
  bool operator==(const Stage&) const = default;
};

// The combined meaning of two configurations; unset: not known. Errc::unavailable if the other one
// has to be known as well. Errc::misconfigured if the two don't belong together: then read both
// again, because each step of a migration changes one of them.
Result<Stage> stage_of(const std::optional<SpaceConfig>& old_config,
                       const std::optional<SpaceConfig>& new_config);

// Whether holds of this phase are in the old and in the new store.
constexpr bool in_old(MigrationPhase phase) { return phase <= MigrationPhase::dual_new; }
constexpr bool in_new(MigrationPhase phase) { return phase >= MigrationPhase::dual_old; }
constexpr bool in_both(MigrationPhase phase) { return in_old(phase) && in_new(phase); }

// Both configurations at one time, as one client has read them.
struct View {
  Stage stage;
  std::optional<SpaceConfig> old_config;
  std::optional<SpaceConfig> new_config;
  // The configuration for the core. Its version stands for both versions in this process.
  SpaceConfig together;
};

// Permits and longest lease in this phase: the lower ones if both stores count. The version is the
// sum of theirs, the migration phase is 0; epochs are left out.
SpaceConfig put_together(MigrationPhase phase, const std::optional<SpaceConfig>& old_config,
                         const std::optional<SpaceConfig>& new_config);

}  // namespace lockset::migrate
