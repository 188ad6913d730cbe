// The registry entry of the ZooKeeper backend.
#pragma once

#include "lockset/registry.h"

namespace lockset {

extern const Scheme zookeeper_scheme;

}  // namespace lockset
