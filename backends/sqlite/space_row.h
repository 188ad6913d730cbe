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
  // On the disk: no stamp above it was given in a commit that may be lost. 0: all such commits are
  // on the disk.
  std::int64_t stamp_ceiling = 0;
};

// A read transaction is enough.
SpaceRow read_space(Transaction& transaction);

// A new stamp, which is at least `at_least`. In a write transaction that has read `space`; keeps it
// up to date.
Stamp draw_stamp(Transaction& transaction, SpaceRow& space, Stamp at_least = {});

}  // namespace lockset::sqlite
