// Holds in bulk. A hold lives in a session, so those of zookeeper_fill end with this process at the
// latest.
#pragma once

#include <cstdint>

#include "lockset/url.h"

namespace lockset::bench {

// Store::fill
void zookeeper_fill(const Url& url, std::uint64_t count);

}  // namespace lockset::bench
