// `lockset init`: makes a lock space.
#pragma once

#include <string>

#include "backends/redis/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// Does nothing if the space exists. If the server has lost its state and no client has restored it,
// this declares the space empty: earlier holds do not count any more, and there is no quarantine.
Status init(const Options& options, TimePoint by);

}  // namespace lockset::redis
