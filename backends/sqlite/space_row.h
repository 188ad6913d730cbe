// The one row of the table space, as far as a grant needs it.
#pragma once

#include <cstdint>

#include "backends/sqlite/store.h"
#include "lockset/stamp.h"

namespace lockset::sqlite {

struct SpaceRow {
  std::int64_t version = 0;
  std::int64_t last_stamp = 0;
  std::int64_t stamp_base = 0;
};

// A read transaction is enough.
SpaceRow read_space(Transaction& transaction);

// A new stamp, which is at least `at_least`. In a write transaction that has read `space`.
Stamp draw_stamp(Transaction& transaction, const SpaceRow& space, Stamp at_least = {});

}  // namespace lockset::sqlite
