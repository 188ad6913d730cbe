// From settings to an open lock space.
#pragma once

#include <memory>

#include "cli/settings.h"
#include "lockset/locks.h"
#include "lockset/observer.h"

namespace lockset::cli {

// For commands that may need another line than "invalid": the code and message of a
// space that could not be opened, with the place that its address comes from.
[[noreturn]] void fail_open(const Error& error, const Settings& settings);

// `what` is what `lockset status` shows beside user, host and process.
Options options_of(const Settings& settings, const std::string& what);

// Failure 78 for a bad address, 69 for a store that is away.
Locks open_space(const Settings& settings);

}  // namespace lockset::cli
