// The default store is a file in the user's home, so each user has another one.
#pragma once

#include "cli/settings.h"

namespace lockset::cli {

// One line on standard error if these settings mean root's own file and a user of this host has
// one, too: jobs of the two do not exclude each other. Only root can look into all homes.
void warn_of_other_default_files(const Settings& settings);

}  // namespace lockset::cli
