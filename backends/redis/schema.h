// `lockset init`: makes a lock space.
#pragma once

#include <string>

#include "backends/redis/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// Does nothing where there is one. Where there was one whose state the server has lost, and
// no client has put it back, this declares it empty: nothing that was held counts any more,
// and no quarantine is kept.
Status init(const Options& options, TimePoint by);

}  // namespace lockset::redis
