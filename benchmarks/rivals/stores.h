// Each store is defined in the file of its name.
#pragma once

#include "benchmarks/rivals/rival.h"

namespace lockset::bench {

extern const Store memory_store;
extern const Store sqlite_store;
extern const Store postgresql_store;
extern const Store mysql_store;  // also MariaDB
extern const Store redis_store;
extern const Store zookeeper_store;

}  // namespace lockset::bench
