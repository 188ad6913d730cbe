#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store memory_store{.scheme = "memory"};

}  // namespace lockset::bench
