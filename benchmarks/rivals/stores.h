// Each store is defined in the file of its name.
#pragma once

#include "benchmarks/rivals/rival.h"

namespace lockset::bench {

extern const RivalStore memory_store;
extern const RivalStore sqlite_store;
extern const RivalStore postgresql_store;
extern const RivalStore mysql_store;  // also MariaDB
extern const RivalStore redis_store;
extern const RivalStore zookeeper_store;

}  // namespace lockset::bench
