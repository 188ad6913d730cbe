// Moves a lock space from one store to another while programs use it. docs/migration.md is the
// runbook; ADR 0035 describes the protocol and why it is safe.
//
// Programs open "migrate:?from=...&to=..." (or set migrate.from and migrate.to) and follow the
// phase, which the stores record. A person moves the phase on, by this class or by `lockset
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

// The address for programs, with the two addresses percent-encoded.
std::string migrate_url(std::string_view from, std::string_view to);

// A client that was seen holding locks or waiting for them.
struct MigrationClient {
  Owner owner;  // its instance, epoch and label as the store shows them
  // "0.1.0"; empty for versions that don't say.
  std::string version;
  // Opened over both stores; otherwise over one store alone.
  bool follows = false;
  bool in_old_store = false;
  std::size_t holds = 0;
};

struct MigrationStatus {
  MigrationPhase phase = MigrationPhase::old_only;
  // False while a store whose mark is needed does not answer. `phase` is then the earliest one that
  // the other store's mark allows.
  bool certain = true;
  // Between two phases: nothing is granted for the moment. If the process that began the switch
  // does not finish it, clients do.
  bool switching = false;
  // In old_only: clients that open the new space alone are refused there, because a move was taken
  // back or has just begun. See Migration::release_new.
  bool new_space_kept = false;
  // Live holds in the old and in the new store, counted by the phase in which they were taken.
  // Holds of clients that don't follow the migration count in `alone`. Unset: the store did not
  // answer.
  struct Holds {
    std::size_t alone = 0;
    std::size_t by_phase[5] = {};  // old_only to new_only
  };
  std::optional<Holds> in_old;
  std::optional<Holds> in_new;
  // From the stores that answered.
  std::vector<MigrationClient> clients;
  // Results of the shadow: sums over the clients that reported within the last ten minutes.
  struct Shadow {
    std::size_t clients = 0;
    std::uint64_t tried = 0;        // sets granted by the old store, tried in the new
    std::uint64_t granted = 0;      // and granted there
    std::uint64_t differences = 0;  // and not free there
    std::uint64_t errors = 0;       // and the new store failed
    std::uint64_t skipped = 0;      // not tried: the queue was full
    // Duration of an acquire in the new store: the slowest client's median and 99th percentile.
    Duration median{};
    Duration p99{};
  };
  Shadow shadow;
  // One-line notes for people, for example that the new store does not answer.
  std::vector<std::string> notes;
};

// Something that blocks a step.
struct MigrationObstacle {
  std::string text;  // one line: what, and what to do about it
  // The step is blocked, but only temporarily (holds have to end): waiting makes sense.
  bool passes = false;
  // Nothing blocks the step any more, and this must stay so for this much longer; otherwise 0.
  Duration time_left{};
};

// Thread-safety: for one thread. Each call returns by its `by`, give or take scheduling. Only one
// person can steer at a time: each step takes a hold on a reserved name in the old store, and the
// store refuses each change if its configuration has changed since it was looked at. A call that
// fails half-way leaves a safe state, and the same call continues from it.
class Migration {
 public:
  // Opens both stores. If a store does not answer or is not fit, each call that needs it tries
  // again and says what is wrong with it. Errc::invalid for a malformed address. Errc::unsupported,
  // with the reason, if locks can't move between these two: a store that only one process sees, the
  // same address twice. (plan and start find out if two addresses mean one space.)
  static Result<Migration> open(std::string_view from, std::string_view to, TimePoint by);
  // Over backends that the caller made. `clock` is for tests: it must outlive this object, and
  // every `by` counts on it.
  Migration(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to,
            const Clock& clock = real_clock());
  Migration(Migration&&) noexcept;
  Migration& operator=(Migration&&) noexcept;
  ~Migration();

  // What would go wrong, before anything is begun. Changes nothing, except that it takes and
  // releases probing holds on reserved names.
  Result<std::vector<Finding>> plan(TimePoint by);
  // Copies the permits and the longest lease of the old space to the new one. Returns the number of
  // changes.
  Result<std::size_t> copy_permits(TimePoint by);

  Result<MigrationStatus> status(TimePoint by);

  // What blocks advance() and roll_back() at this moment; empty: nothing. If no step is left, the
  // same errors as theirs.
  Result<std::vector<MigrationObstacle>> obstacles_ahead(TimePoint by);
  Result<std::vector<MigrationObstacle>> obstacles_back(TimePoint by);

  // Each of these takes one step and returns the phase after it. Errc::unavailable, with the first
  // obstacle, if the step is blocked only temporarily. Errc::misconfigured with the first obstacle
  // that does not go away on its own. Some steps require that nothing blocked them for a while: 10
  // s where holds had to end, 3 s where clients must be gone. A call waits for that if `by` leaves
  // the time. Otherwise it returns Errc::unavailable, and a later call on the same object, also of
  // obstacles_ahead or obstacles_back, counts on from what this one saw.

  // old_only -> shadow. In phase shadow: nothing to do.
  Result<MigrationPhase> start(TimePoint by);
  // One phase on, from shadow up to closed. A rollback that was begun and not finished is undone.
  Result<MigrationPhase> advance(TimePoint by);
  // One phase back, down to old_only. Errc::invalid if nothing was begun, and once the migration is
  // finished. From shadow and from dual_old it works without the new store.
  Result<MigrationPhase> roll_back(TimePoint by);
  // closed -> finished; there is no way back from it. In phase finished: nothing to do.
  Result<MigrationPhase> finish(TimePoint by);
  // In old_only: lets clients of the new space alone take locks there. After a rollback the new
  // space stays shut to them, because holds are in the old store only. Once released, those clients
  // take locks in the new space, and these locks count there alone. Nothing to do if it is released
  // already. Errc::misconfigured in a later phase, Errc::invalid once the migration is finished.
  // Needs the old store, which confirms that nothing has begun. With `old_store_is_gone` the call
  // does without it if it does not answer: the caller guarantees that it never comes back.
  Result<MigrationPhase> release_new(TimePoint by, bool old_store_is_gone = false);

 private:
  struct Impl;
  explicit Migration(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace LOCKSET_EXPORT
