// What a store's configuration says about a migration: the meaning of SpaceConfig::migration_phase.
// There is one number per store, compared with everything else in the granting step (semantics 7).
// Each step of a migration changes one of the two numbers; ADR 0035 has the table.
//
// Plain values; thread-safe.
#pragma once

#include <cstdint>

#include "lockset/error.h"

namespace lockset {

struct MigrationMark {
  enum class Step : std::uint8_t {
    none = 0,
    // In the old store. Every client takes every hold here...
    shadow = 1,    // and tries the new store; nothing depends on that
    dual_old = 2,  // and then in the new store; the stamp is this store's
    to_new = 3,    // nothing is granted for a moment: on the way to dual_new
    dual_new = 4,  // and then in the new store; the stamp is the new store's
    to_old = 5,    // nothing is granted for a moment: on the way back to dual_old
    closed = 6,    // nobody uses this store any more
    // In the new store.
    prepared = 8,  // only clients that took their holds in the old store take them here
    open = 9,      // holds are here only
    done = 10,     // as open, and there is no way back: an ordinary store again
  };
  // The lowest byte of a number that says something else: core/quorum_mark.h.
  static constexpr std::int64_t node_of_quorum = 16;

  Step step = Step::none;
  // The same in both stores of one migration, drawn at its start; positive, 32 bits. 0 without one.
  std::uint32_t migration = 0;

  // Reads SpaceConfig::migration_phase. Errc::misconfigured for a node of a quorum, and for a
  // number that this version does not know: a newer version wrote it.
  static Result<MigrationMark> decode(std::int64_t phase);
  // At most 2^48, which every store keeps exactly.
  [[nodiscard]] std::int64_t encode() const noexcept;

  [[nodiscard]] bool of_old_store() const noexcept {
    return step >= Step::shadow && step <= Step::closed;
  }
  [[nodiscard]] bool of_new_store() const noexcept { return step >= Step::prepared; }
  // Between two phases: this lasts for a moment, and nothing is granted.
  [[nodiscard]] bool switching() const noexcept {
    return step == Step::to_new || step == Step::to_old;
  }
  bool operator==(const MigrationMark&) const = default;
};

// Whether a client that knows only this store may take holds in it. Errc::misconfigured, with the
// remedy, if other clients take theirs elsewhere; Errc::unavailable during a switch.
Status may_use_alone(std::int64_t migration_phase);

}  // namespace lockset
