#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store redis_store{.scheme = "redis"};

}  // namespace lockset::bench
