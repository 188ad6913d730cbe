// A disk that keeps only what was synced, under SQLite in this process: a power cut takes the rest.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::test {

// From now on, each sync of a file that SQLite opens in this process also keeps a copy of what it
// wrote so far. Call it in a child that ends by kill -9.
void keep_what_is_synced();
// How often SQLite synced a file since then.
std::int64_t syncs();

// The database, and its log, become what they were at their last sync. REQUIRES: nobody has it
// open.
void cut_power(const std::string& database);
// How much of the log was synced.
std::int64_t synced_log(const std::string& database);

}  // namespace lockset::test
