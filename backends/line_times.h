// How long a waiter counts that is not heard of: the same in every store that has a line.
#pragma once

#include "lockset/clock.h"

namespace lockset {

// Much longer than the core's longest poll interval (5 s and a quarter): a living waiter confirms
// its place in time.
inline constexpr Duration waiter_lifetime = std::chrono::seconds(15);

// A woken waiter that does not come within this time is passed over: it is stopped or dead.
inline constexpr Duration comes_within = std::chrono::milliseconds(100);

// If others want what is kept for a waiter, and it was not heard of for this long, it is woken: to
// see whether it still lives.
inline constexpr Duration prod_after = std::chrono::seconds(1);

}  // namespace lockset
