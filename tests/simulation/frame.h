// What every run begins and ends with, whatever is simulated in between.
#pragma once

#include <functional>
#include <optional>

#include "history/check.h"
#include "lockset/backend.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/run.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

// As the profile says, for all names.
void set_permits(Backend& store, const Profile& profile);
// For the names that the clients use.
void record_permits(World& world, const Profile& profile);

// What the promises allow on this network; the slack, and what else is special, is the caller's.
history::Rules rules_of(const Profile& profile);

// Adds the world's complaints and the history's violations to the failures, and moves the history
// and the counts over. Without `excused` all is promised. The report, if the history makes
// sense.
std::optional<history::Report> judge(Outcome& outcome, World& world, const history::Rules& rules,
                                     const std::function<bool(history::Invariant)>& excused = {});

}  // namespace lockset::simulation
