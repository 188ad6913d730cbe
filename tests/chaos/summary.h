// The results of a run, for people.
#pragma once

#include <string>

#include "history/check.h"
#include "tests/chaos/options.h"
#include "tests/chaos/run.h"

namespace lockset::chaos {

// True if nothing at all is wrong.
bool kept(const Outcome& outcome, const history::Report& report);

// The violations with their stories, the conditions of the run, the counts, faults by kind, and the
// verdict on each invariant. `more`: additional text for this kind of run.
std::string summary(const Options& options, const Outcome& outcome, const history::Report& report,
                    const std::string& more);

}  // namespace lockset::chaos
