// Takes the lock set; signals can end the wait, and a person can watch it.
#pragma once

#include "cli/settings.h"
#include "cli/signals.h"
#include "lockset/locks.h"

namespace lockset::cli {

struct Locked {
  Locks locks;
  Hold hold;  // declared after the locks, so that it is destroyed first
  TimePoint granted_at;
};

// The set of --read and --write. Failure 64 if it is not a valid one.
LockSet lock_set_of(const Settings& settings);

// Opens the space and takes the set, as --wait and -n say. Failures: 75 (or -E) if the set is not
// free and -n forbids to wait, 124 (or -E) at the end of the wait, 128 + n when signal n ended it,
// and those of the store. Nothing is held after any of them.
Locked take_locks(const Settings& settings, const LockSet& set, const std::string& what,
                  Signals& signals);

}  // namespace lockset::cli
