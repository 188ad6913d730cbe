// Whether the nodes are fit, each for itself and together.
#pragma once

#include "backends/quorum/address.h"
#include "lockset/registry.h"

namespace lockset::quorum {

Result<std::vector<Finding>> examine(const Addresses& addresses, TimePoint by);

}  // namespace lockset::quorum
