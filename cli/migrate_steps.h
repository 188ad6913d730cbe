// Takes the steps of a migration one after the other, and says what blocks them.
#pragma once

#include "cli/settings.h"
#include "lockset/migration.h"

namespace lockset::cli {

// A client that moves a migration on.
struct Steersman {
  Migration migration;
  std::string from;  // redacted, for people
  std::string to;
  Duration io_timeout{};

  // The deadline of a call with few round trips.
  [[nodiscard]] TimePoint soon() const { return BootClock::now() + 2 * io_timeout; }
};

// The stores of migrate.from and migrate.to, or of an address of the scheme migrate. Failure 78
// without them, and for an impossible pair; 69 for stores that can't be reached.
Steersman take_the_helm(const Settings& settings);

// The audit line of a step from the phase `before`.
void audit_step(const Settings& settings, const Result<MigrationPhase>& done,
                std::string_view action, MigrationPhase before);

struct Journey {
  bool ahead = true;
  std::optional<MigrationPhase> to;  // unset: one step
  bool watch = false;                // wait while the step is blocked only temporarily
};

// Failures: 75 if the step is blocked only temporarily, 78 if it is blocked until somebody acts, 69
// for stores that can't be reached, 128 + n when signal n came. The state is safe after any of
// them. Prints each phase that is reached. REQUIRES: called from the main thread, before any other
// thread was started.
int travel(const Settings& settings, const Journey& journey);

// "dual-old: holds stand in both stores; stamps are the old store's".
std::string phase_text(MigrationPhase phase);

}  // namespace lockset::cli
