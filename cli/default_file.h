// The default store is a file in the user's home, so each user has another one.
#pragma once

#include "cli/settings.h"

namespace lockset::cli {

// One line if these settings mean the user's own file, and this host has another one: the place for
// all users that docs/guide.md names, or, as only root can find out, a file in another user's home.
// Jobs of the two do not exclude each other.
void warn_of_other_default_files(const Settings& settings);

}  // namespace lockset::cli
