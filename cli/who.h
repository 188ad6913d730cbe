// Who runs this command.
#pragma once

#include <string>

namespace lockset::cli {

std::string user_name();  // of the effective user; its number if it has no name
std::string host_name();  // empty if the system has none

}  // namespace lockset::cli
