#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"

namespace lockset::cli {

std::string general_help();
std::string help_of(const Command& command);

// The parts that the manual pages share with it.
std::string help_of_option(const Option& option, std::string_view synopsis);  // one line
std::string_view help_of_configuration() noexcept;
std::string_view help_of_exit_codes() noexcept;  // the lines, with a heading

}  // namespace lockset::cli
