// What `lockset doctor` finds out about a lock database and its place in the file system.
#pragma once

#include <vector>

#include "lockset/registry.h"

namespace lockset::sqlite {

// Scheme::examine. Makes no file but SQLite's own -wal and -shm, as every reader does.
Result<std::vector<Finding>> examine(const Url& url, TimePoint by);

}  // namespace lockset::sqlite
