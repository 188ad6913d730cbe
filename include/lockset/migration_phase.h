// How far a migration from one store to another is.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

enum class MigrationPhase : std::uint8_t {
  old_only,  // no migration, or not begun: holds stand in the old store alone
  shadow,    // as before, and the new store is tried beside; nothing depends on it
  dual_old,  // holds stand in both stores; stamps are the old store's
  dual_new,  // holds stand in both stores; stamps are the new store's
  new_only,  // holds stand in the new store alone
  closed,    // the old store is closed and empty
  finished,  // the new store is an ordinary space; there is no way back
};

// "old-only", "shadow", "dual-old", "dual-new", "new-only", "closed", "finished".
std::string_view to_string(MigrationPhase phase) noexcept;

}  // namespace LOCKSET_EXPORT
