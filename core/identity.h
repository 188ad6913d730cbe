// The identity of this process, for people and as an application id. Semantics 12.
#pragma once

#include <string>
#include <string_view>

#include "lockset/error.h"

namespace lockset {

// user@host of this process.
std::string default_app();
// user@host:pid and the name of the program.
std::string default_label();

// Errc::invalid unless `app` can be an application id: 1 to 200 bytes, otherwise as names.
Status check_app(std::string_view app);

// `label` as one line that any terminal shows: control characters and bytes that are not UTF-8
// become '?', and everything beyond 500 bytes is cut.
std::string clean_label(std::string_view label);

}  // namespace lockset
