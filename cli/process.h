// Settings of our own process that every command needs, no matter how it was started.
#pragma once

#include <sys/types.h>

#include <optional>

namespace lockset::cli {

// If standard input, output or error is closed, it gets a descriptor that fails like a closed one.
// Otherwise the next descriptor to be opened, a database or a socket, would take its place. A limit
// on the size of files makes a write fail; it does not end us by a signal.
//
// REQUIRES: the first call in main.
void settle_process();

// In a forked child: restores the original state, for the program that it becomes.
// Async-signal-safe.
void unsettle_process();

// Whether processes that lost their parent become our children: in a container, as process 1.
bool adopts_orphans();
// The next child that has ended, without waiting and without taking its status.
std::optional<pid_t> ended_child();

}  // namespace lockset::cli
