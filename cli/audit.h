// Audit lines: who changed something that all programs of a space share.
#pragma once

#include <string_view>

#include "cli/settings.h"
#include "lockset/error.h"

namespace lockset::cli {

// Says that `action` ("break") was done, if it was: what, who, when, and in which space. If it may
// have been done it says that, too. Nothing for an action that certainly was not done.
void audit(const Settings& settings, const Status& outcome, std::string_view action,
           std::string_view what);

}  // namespace lockset::cli
