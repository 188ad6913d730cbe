#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store zookeeper_store{.scheme = "zookeeper"};

}  // namespace lockset::bench
