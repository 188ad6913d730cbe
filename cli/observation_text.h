// The text of an observation, as a script hands it over.
#pragma once

#include <string>

#include "lockset/observation.h"

namespace lockset::cli {

// `text` is what `lockset observe` printed; "-" reads it from standard input, one line and not a
// byte more, so that a job finds the rest. `what` names the operand or the option in messages.
// Failure 64 for anything else.
Observation observation_of(const std::string& text, const std::string& what);

}  // namespace lockset::cli
