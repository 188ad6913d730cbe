// Reads the files of a recorded history.
#pragma once

#include <string>
#include <vector>

#include "history/event.h"

namespace lockset::tools {

// A folder stands for its files, sorted by name. Throws Failure if it can't be read or has no
// files.
std::vector<std::string> history_files(const std::vector<std::string>& operands);

// Throws Failure, with the file's name, if a file can't be read or is not a history.
history::History read_history(const std::vector<std::string>& files);

}  // namespace lockset::tools
