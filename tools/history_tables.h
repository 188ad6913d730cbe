// The findings of the checker of histories, as tables for people.
#pragma once

#include <string>

#include "history/check.h"

namespace lockset::tools {

// What the run contained, one line each.
std::string counts_table(const history::Counts& counts);
// The invariants, with the number of violations of each.
std::string verdict_table(const history::Report& report);

}  // namespace lockset::tools
