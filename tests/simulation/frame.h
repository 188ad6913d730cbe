// The common beginning and end of every run.
#pragma once

#include <functional>
#include <optional>

#include "history/check.h"
#include "lockset/backend.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/run.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

// Sets the permits of the profile, for all names, and its bound on overtaking.
void configure(Backend& store, const Profile& profile);
// For the names that the clients use.
void record_permits(World& world, const Profile& profile);

// What the promises allow on this network; the caller sets the slack and other special rules.
history::Rules rules_of(const Profile& profile);

// Adds the world's complaints and the history's violations to the failures, and moves the history
// and the counts there. Without `excused` every promise counts. Returns the report, if the history
// makes sense.
std::optional<history::Report> judge(Outcome& outcome, World& world, const history::Rules& rules,
                                     const std::function<bool(history::Invariant)>& excused = {});

}  // namespace lockset::simulation
