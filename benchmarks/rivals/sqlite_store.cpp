#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store sqlite_store{.scheme = "sqlite"};

}  // namespace lockset::bench
