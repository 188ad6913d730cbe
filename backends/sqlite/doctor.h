// What `lockset doctor` finds out about a lock database and its place in the file system.
#pragma once

#include <vector>

#include "backends/sqlite/address.h"
#include "lockset/clock.h"
#include "lockset/registry.h"

namespace lockset::sqlite {

// Makes no file but SQLite's own -wal and -shm, as every reader does.
Result<std::vector<Finding>> examine(const Options& options, TimePoint by);

}  // namespace lockset::sqlite
