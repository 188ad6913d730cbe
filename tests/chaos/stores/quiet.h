// Whether everything has ended in a store.
#pragma once

#include <functional>
#include <string>

#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// True if a new client can be opened there and gets an answer.
bool answers(const std::string& url);

// Sweeps the space until `count` finds nothing more, for at most some 25 s: a store keeps a dead
// client's waiters for 15 s. Returns the last count.
Left when_quiet(const std::string& url, const std::function<Left()>& count);

}  // namespace lockset::chaos
