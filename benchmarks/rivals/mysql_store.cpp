#include "benchmarks/rivals/stores.h"

namespace lockset::bench {

const Store mysql_store{.scheme = "mysql"};

}  // namespace lockset::bench
