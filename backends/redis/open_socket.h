// Opens a connected socket, with a deadline; the client library's own way leaks descriptors into
// child processes.
#pragma once

#include "backends/redis/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::redis {

// Blocking, closed on exec, without Nagle's delay, with keep-alive. The caller closes it. Looking
// up a host name may take longer than `by`.
Result<int> open_socket(const Options& options, TimePoint by);

}  // namespace lockset::redis
