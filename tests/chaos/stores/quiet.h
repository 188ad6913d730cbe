// Whether all is over in a store.
#pragma once

#include <functional>
#include <string>

#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// A new client can be opened there, and is answered.
bool answers(const std::string& url);

// Sweeps the space until `count` finds nothing any more, for some 25 s at most: a store keeps a
// dead client's waiters for 15 s. What it found last.
Left when_quiet(const std::string& url, const std::function<Left()>& count);

}  // namespace lockset::chaos
