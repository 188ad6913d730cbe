// Taking the steps of a migration one after the other, with what stands in their way.
#pragma once

#include "cli/settings.h"
#include "lockset/migration.h"

namespace lockset::cli {

// One who moves a migration on.
struct Steersman {
  Migration migration;
  std::string from;  // redacted, for people
  std::string to;
  Duration io_timeout{};

  // When a call of few round trips has to be over.
  [[nodiscard]] TimePoint soon() const { return BootClock::now() + 2 * io_timeout; }
};

// The stores of migrate.from and migrate.to, or of an address of the scheme migrate. Failure 78
// without them, and for a pair that can't be; 69 for stores that are away.
Steersman take_the_helm(const Settings& settings);

struct Journey {
  bool ahead = true;
  std::optional<MigrationPhase> to;  // unset: one step
  bool watch = false;                // wait for all that passes
};

// Failures: 75 for what passes, 78 for what does not, 69 for stores that are away, 128 + n when
// signal n came; the state is safe after any of them. Prints each phase that is reached.
// REQUIRES: called from the main thread, before any other thread was started.
int travel(const Settings& settings, const Journey& journey);

// "dual-old: holds stand in both stores; stamps are the old store's".
std::string phase_text(MigrationPhase phase);

}  // namespace lockset::cli
