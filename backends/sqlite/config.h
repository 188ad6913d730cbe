// The configuration of the space: the row of `space`, and the tables permits and epochs.
#pragma once

#include <string_view>

#include "backends/sqlite/store.h"
#include "lockset/space_config.h"

namespace lockset::sqlite {

// A read transaction is enough.
SpaceConfig load(Transaction& transaction);

// In a write transaction: stores the change. Returns the configuration after it.
SpaceConfig apply(Transaction& transaction, const ConfigChange& change);

// In a write transaction: stores the epoch and raises the version.
void set_epoch(Transaction& transaction, std::string_view app, std::int64_t epoch);

}  // namespace lockset::sqlite
