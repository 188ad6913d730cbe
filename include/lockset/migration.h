// Moving a lock space from one store to another while programs use it. docs/migration.md is the
// runbook; ADR 0035 has the protocol and why it is safe.
//
// Programs open "migrate:?from=...&to=..." (or set migrate.from and migrate.to) and follow the
// phase, which stands in the stores. A person moves the phase on, by this class or by `lockset
// migrate`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"
#include "lockset/export.h"
#include "lockset/migration_phase.h"
#include "lockset/registry.h"

namespace lockset LOCKSET_EXPORT {

// The address for programs, the two addresses percent-encoded.
std::string migrate_url(std::string_view from, std::string_view to);

// One who was seen to hold or to await locks.
struct MigrationClient {
  Owner owner;  // its instance, epoch and label as the store shows them
  // "0.1.0"; empty for versions that don't say.
  std::string version;
  // Opened over both stores; otherwise over the one store alone.
  bool follows = false;
  bool in_old_store = false;
  std::size_t holds = 0;
};

struct MigrationStatus {
  MigrationPhase phase = MigrationPhase::old_only;
  // Unset while a store does not answer whose mark tells more: `phase` is the earliest one then
  // that the other store's mark allows.
  bool certain = true;
  // Between two phases: nothing is granted for the moment. If the process that began the switch
  // does not end it, clients do.
  bool switching = false;
  // In old_only: the new space is kept shut to clients of it alone, for a move that was taken back
  // or is just begun. See Migration::release_new.
  bool new_space_kept = false;
  // Live holds in the old and in the new store by the phase in which they were taken; those of
  // clients that don't follow the migration are counted in `alone`. Unset: the store did not tell.
  struct Holds {
    std::size_t alone = 0;
    std::size_t by_phase[5] = {};  // old_only to new_only
  };
  std::optional<Holds> in_old;
  std::optional<Holds> in_new;
  // Of the stores that told.
  std::vector<MigrationClient> clients;
  // How the shadow does: sums over the clients that reported within the last ten minutes.
  struct Shadow {
    std::size_t clients = 0;
    std::uint64_t tried = 0;        // sets granted by the old store, tried in the new
    std::uint64_t granted = 0;      // and granted there
    std::uint64_t differences = 0;  // and not free there
    std::uint64_t errors = 0;       // and the new store failed
    std::uint64_t skipped = 0;      // not tried: the queue was full
    // Of an acquire in the new store: the slowest client's median and 99th percentile.
    Duration median{};
    Duration p99{};
  };
  Shadow shadow;
  // Lines for people: the new store does not answer, ...
  std::vector<std::string> notes;
};

// Something that blocks a step.
struct MigrationObstacle {
  std::string text;  // one line: what, and what to do about it
  // The step is blocked, but only temporarily (holds have to end), so that waiting makes sense.
  bool passes = false;
  // Nothing blocks the step any more, and it has to stay so for this long; otherwise 0.
  Duration time_left{};
};

// Thread-safety: for one thread. Each call returns by its `by`, give or take scheduling.
// Only one person at a time steers: each step takes a hold on a reserved name in the old store,
// and each change is refused by the store if its configuration has changed since it was looked at.
// A call that fails half-way leaves a state that is safe, and that the same call takes up again.
class Migration {
 public:
  // Opens both stores; one that does not answer, or is not fit, is tried again by each call that
  // needs it, which says what is wrong with it. Errc::invalid for an address that can't be meant;
  // Errc::unsupported, with the reason, for a pair that can't be migrated between: a store that
  // only one process sees, the same address twice. (Two addresses of one space are found out by
  // plan and start.)
  static Result<Migration> open(std::string_view from, std::string_view to, TimePoint by);
  // Over backends made by the caller. `clock` is for tests, and has to outlive this object; every
  // `by` counts on it.
  Migration(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to,
            const Clock& clock = real_clock());
  Migration(Migration&&) noexcept;
  Migration& operator=(Migration&&) noexcept;
  ~Migration();

  // What would go wrong, before anything is begun; changes nothing but for probing holds on
  // reserved names, which it releases.
  Result<std::vector<Finding>> plan(TimePoint by);
  // Gives the new space the permits and the longest lease of the old one; the number of changes.
  Result<std::size_t> copy_permits(TimePoint by);

  Result<MigrationStatus> status(TimePoint by);

  // What blocks advance() and roll_back() at this moment; empty: nothing. If no step is left, the
  // same errors as these.
  Result<std::vector<MigrationObstacle>> obstacles_ahead(TimePoint by);
  Result<std::vector<MigrationObstacle>> obstacles_back(TimePoint by);

  // Each of these takes one step and returns the phase that holds now. Errc::unavailable, with the
  // first obstacle, if the step is blocked only temporarily; Errc::misconfigured with the first
  // obstacle that does not pass by itself. Some steps need that nothing blocked them for a while:
  // 10 s where holds have to have ended, 3 s where clients should be gone. A call waits for that if
  // `by` leaves the time. Otherwise it returns Errc::unavailable, and a later call on the same
  // object, also of obstacles_ahead or obstacles_back, counts on from what this one saw.

  // old_only -> shadow. In phase shadow: nothing to do.
  Result<MigrationPhase> start(TimePoint by);
  // One phase on, from shadow up to closed. A way back that was begun and not ended is taken back.
  Result<MigrationPhase> advance(TimePoint by);
  // One phase back, down to old_only. Errc::invalid if nothing was begun, and once it is finished.
  // From shadow and from dual_old it works without the new store.
  Result<MigrationPhase> roll_back(TimePoint by);
  // closed -> finished, from where no way leads back. In phase finished: nothing to do.
  Result<MigrationPhase> finish(TimePoint by);
  // In old_only: gives the new space free, which a way back leaves shut to clients that are set to
  // it alone, for holds stand in the old store alone. From then on they take locks there, and those
  // count there alone. Nothing to do if it is free already. Errc::misconfigured in a later phase,
  // Errc::invalid once the migration is finished. Needs the old store, which says that nothing has
  // begun; with `old_store_is_gone` it does without if that does not answer: the caller answers for
  // it that it never comes back.
  Result<MigrationPhase> release_new(TimePoint by, bool old_store_is_gone = false);

 private:
  struct Impl;
  explicit Migration(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace LOCKSET_EXPORT
