// Completion in bash, zsh and fish, from the same definitions as the help.
#pragma once

#include <string>

namespace lockset::cli {

// Scripts for the shells to read. They ask `lockset help --known names` and `--known stamps`.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

// What the store of the settings knows, one line each: names that are held, waited for or have
// permits of their own; or stamps of holds, each with a tab and what it holds. Nothing if the store
// can't tell at once: who completes a word must neither wait nor see a message.
std::string known_names();
std::string known_stamps();

}  // namespace lockset::cli
