#pragma once

#include <string>

#include "cli/command.h"

namespace lockset::cli {

std::string general_help();
std::string help_of(const Command& command);

}  // namespace lockset::cli
