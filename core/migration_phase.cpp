// The phases' names.
#include "lockset/migration_phase.h"

namespace lockset {

std::string_view to_string(MigrationPhase phase) noexcept {
  switch (phase) {
    case MigrationPhase::old_only:
      return "old-only";
    case MigrationPhase::shadow:
      return "shadow";
    case MigrationPhase::dual_old:
      return "dual-old";
    case MigrationPhase::dual_new:
      return "dual-new";
    case MigrationPhase::new_only:
      return "new-only";
    case MigrationPhase::closed:
      return "closed";
    case MigrationPhase::finished:
      return "finished";
  }
  return "unknown";
}

}  // namespace lockset
