// Ctrl-C and SIGTERM as something to ask for: the run ends in order, and is judged by what
// there is. The second one ends at once.
#pragma once

namespace lockset::tools {

// Make it before any other thread exists. The servers, which share the terminal, must not end
// by a Ctrl-C that is meant for the run: children inherit that it is ignored.
void catch_interrupts();
bool interrupted() noexcept;

}  // namespace lockset::tools
