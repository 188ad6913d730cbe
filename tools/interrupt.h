// Ctrl-C and SIGTERM as a state to ask for: the run ends in order, and is judged by the results so
// far. The second signal ends it at once.
#pragma once

namespace lockset::tools {

// Call it before any other thread exists. A Ctrl-C that is meant for the run must not end the
// servers, which share the terminal: children inherit that the signal is ignored.
void catch_interrupts();
bool interrupted() noexcept;

}  // namespace lockset::tools
