// What a run has shown, for people.
#pragma once

#include <string>

#include "history/check.h"
#include "tests/chaos/options.h"
#include "tests/chaos/run.h"

namespace lockset::chaos {

// Whether nothing at all is wrong.
bool kept(const Outcome& outcome, const history::Report& report);

// The violations with their stories, the conditions of the run, what was counted, faults by
// kind, and the verdict on each invariant. `more`: what else there is to say of this kind of run.
std::string summary(const Options& options, const Outcome& outcome, const history::Report& report,
                    const std::string& more);

}  // namespace lockset::chaos
