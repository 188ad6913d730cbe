// Takes the lock set; signals can end the wait, and a person can watch it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/settings.h"
#include "cli/signals.h"
#include "lockset/locks.h"

namespace lockset::cli {

struct Locked {
  Locks locks;
  Hold hold;  // declared after the locks, so that it is destroyed first
  TimePoint granted_at;
};

struct WantedLocks {
  LockSet set;
  std::optional<Observation> unchanged_since;
};

// What --read, --write and --unless-changed say; each of `bare` is written, too. Failure 64 if the
// set is not a valid one, or lacks an observed name. Reads standard input if --unless-changed says
// so.
WantedLocks wanted_locks_of(const Settings& settings, const std::vector<std::string>& bare);

// Opens the space and takes the set, as --wait and -n say. Failures: 75 (or -E) if the set is not
// free and -n forbids to wait, 124 (or -E) at the end of the wait, 80 if an observed name has
// changed, 128 + n when signal n ended the wait, and those of the store. Nothing is held after any
// of them.
Locked take_locks(const Settings& settings, const WantedLocks& wanted, const std::string& what,
                  Signals& signals);

}  // namespace lockset::cli
