// What a command needs of its own process, no matter what started it.
#pragma once

#include <sys/types.h>

#include <optional>

namespace lockset::cli {

// Standard input, output and error that were closed are taken by descriptors which fail as
// closed ones do: else the next that is opened, a database or a socket, would stand in their place.
// And a limit on the size of files is an error of the write, not a signal that ends us.
//
// REQUIRES: the first thing in main.
void settle_process();

// In a forked child: as it was before, for the program that it becomes. Async-signal-safe.
void unsettle_process();

// Whether processes that lost their parent become our children: in a container, as process 1.
bool adopts_orphans();
// The next child that has ended, without waiting and without taking its status.
std::optional<pid_t> ended_child();

}  // namespace lockset::cli
