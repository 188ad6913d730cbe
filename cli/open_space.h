// Opens the lock space that the settings name.
#pragma once

#include <memory>

#include "cli/settings.h"
#include "lockset/locks.h"
#include "lockset/observer.h"

namespace lockset::cli {

// For commands that may need another message than "invalid": the exit code and message for a space
// that could not be opened, with the origin of its address.
[[noreturn]] void fail_open(const Error& error, const Settings& settings);

// `lockset status` shows `what` next to user, host and process.
Options options_of(const Settings& settings, const std::string& what);

// Failure 78 for a bad address, 69 for a store that can't be reached.
Locks open_space(const Settings& settings);

}  // namespace lockset::cli
