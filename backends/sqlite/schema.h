// The tables of a lock space in SQLite, and how an empty file becomes one.
#pragma once

#include <cstdint>
#include <string>

#include "backends/sqlite/connection.h"
#include "backends/sqlite/store.h"
#include "backends/sqlite/store_clock.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::sqlite {

// True: the file is a lock space of this version or an older one. False: it is empty and may become
// one. Errc::misconfigured for everything else. Changes nothing in the file.
Result<bool> is_lock_space(Db& db, const std::string& path);

// Sets up the connection as the whole backend needs it: WAL, and whether each commit is synced.
Status set_up_connection(Db& db, const std::string& path, bool sync_all, TimePoint by);

// Makes the tables, unless another process has just made them, and commits. REQUIRES: the
// connection has begun a write transaction, or failed to.
Status make_schema(Db& db, const std::string& path, const StoreClock& clock);

// True if an older program made the file.
bool is_outdated(Db& db);
// In a write transaction: adds what it lacks. Programs of version 1 that have it open find their
// changes refused from then on; those of later versions go on.
void upgrade(Db& db);

// True if the host was not rebooted since the last use.
bool knows_boot(Db& db, const std::string& boot_id);

// In a write transaction: if the host was rebooted since the last use, the last commits before that
// may be lost. Stamps go on above all that those can have given, and earlier observations no longer
// count. Holds whose processes ended with the boot are removed. The rest of the other leases is
// converted to the new boot's clock, by way of the wall clock. True if it did.
bool adopt_boot(Transaction& transaction, const std::string& boot_id);

}  // namespace lockset::sqlite
