// The words after `lockset COMMAND`, sorted into options and operands.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "cli/options.h"

namespace lockset::cli {

struct CommandLine {
  std::map<Opt, std::vector<std::string>> given;  // a flag has one empty value
  std::vector<std::string> operands;
  std::vector<std::string> child;  // what follows --
  bool has_child = false;          // there was a --
};

// Failure 64 for anything but the `known` options, and for a missing or superfluous value.
CommandLine parse_command_line(const std::vector<std::string>& words, std::span<const Opt> known,
                               std::string_view command);

}  // namespace lockset::cli
