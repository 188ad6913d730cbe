// The phases of a migration from one store to another.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

enum class MigrationPhase : std::uint8_t {
  old_only,  // no migration, or none begun: holds are in the old store only
  shadow,    // as before, and acquires are tried in the new store too; nothing depends on it
  dual_old,  // holds are in both stores; stamps come from the old store
  dual_new,  // holds are in both stores; stamps come from the new store
  new_only,  // holds are in the new store only
  closed,    // the old store is closed and empty
  finished,  // the new store is an ordinary space; there is no way back
};

// "old-only", "shadow", "dual-old", "dual-new", "new-only", "closed", "finished".
std::string_view to_string(MigrationPhase phase) noexcept;

}  // namespace LOCKSET_EXPORT
