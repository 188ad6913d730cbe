#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store postgresql_store{.scheme = "postgresql"};

}  // namespace lockset::bench
