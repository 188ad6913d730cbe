#include "backends/sqlite/space_row.h"

#include <algorithm>

namespace lockset::sqlite {

SpaceRow read_space(Transaction& transaction) {
  Query row = transaction.db.use("SELECT config_version, last_stamp, stamp_base FROM space");
  if (!row.next()) return {};
  return {row.integer(0), row.integer(1), row.integer(2)};
}

Stamp draw_stamp(Transaction& transaction, const SpaceRow& space, Stamp at_least) {
  const Stamp stamp{
      std::max({space.last_stamp + 1, space.stamp_base + 1, at_least.value, transaction.wall_us})};
  transaction.db.use("UPDATE space SET last_stamp = ?").bind(stamp.value).run();
  return stamp;
}

}  // namespace lockset::sqlite
