// Differences between the configurations of two spaces, as far as a migration needs them. Pure.
#pragma once

#include <string>
#include <vector>

#include "lockset/space_config.h"

namespace lockset::migrate {

// The changes that give the space of `new_config` the permits and the longest lease of the old one.
std::vector<ConfigChange> changes_to_copy(const SpaceConfig& old_config,
                                          const SpaceConfig& new_config);

// "permits of "db" (read): 5 in the old store, default in the new": one line for each of the first
// few, and one for the number of the others.
std::vector<std::string> permit_differences(const SpaceConfig& old_config,
                                            const SpaceConfig& new_config);

}  // namespace lockset::migrate
