// What the checker of histories found, as tables for people.
#pragma once

#include <string>

#include "history/check.h"

namespace lockset::tools {

// What the run contained, a line each.
std::string counts_table(const history::Counts& counts);
// The invariants, with how many violations each.
std::string verdict_table(const history::Report& report);

}  // namespace lockset::tools
