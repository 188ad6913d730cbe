// Creates the nodes of a space, and checks that they exist.
#pragma once

#include <string>

#include "backends/zookeeper/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::zookeeper {

// `lockset init`: makes the path of the address and the space in it; does nothing if there is
// nothing to do. Two concurrent calls have the same result.
Status init(const Options& options, TimePoint by);

// Gives an account, "USER:DIGEST", this role in the space, and takes away what the role lacks.
Status allow(const Options& options, Role role, std::string_view account, TimePoint by);

}  // namespace lockset::zookeeper
