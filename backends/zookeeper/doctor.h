// `lockset doctor` for ZooKeeper.
#pragma once

#include <vector>

#include "backends/zookeeper/address.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::zookeeper {

// Opens sessions, and creates nothing.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::zookeeper
