// Reads the files of a recorded history.
#pragma once

#include <string>
#include <vector>

#include "history/event.h"

namespace lockset::tools {

// A folder stands for its files, in the order of their names. Throws Failure if it can't be
// read or holds none.
std::vector<std::string> history_files(const std::vector<std::string>& operands);

// Throws Failure, with the file's name, if one can't be read or holds something else.
history::History read_history(const std::vector<std::string>& files);

}  // namespace lockset::tools
