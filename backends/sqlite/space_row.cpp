#include "backends/sqlite/space_row.h"

#include <algorithm>
#include <limits>

namespace lockset::sqlite {
namespace {

// How far ahead the ceiling is raised. Stamps follow the clock in microseconds, so a busy space
// pays one sync for each ten seconds; and after a power cut stamps are ahead of the clock by no
// more.
constexpr std::int64_t ceiling_step = 10'000'000;

std::int64_t ceiling_above(std::int64_t stamp) {
  return stamp + std::min(ceiling_step, std::numeric_limits<std::int64_t>::max() - stamp);
}

}  // namespace

SpaceRow read_space(Transaction& transaction) {
  Query row =
      transaction.db.use("SELECT config_version, last_stamp, stamp_base, stamp_ceiling FROM space");
  if (!row.next()) return {};
  return {row.integer(0), row.integer(1), row.integer(2), row.integer(3)};
}

Stamp draw_stamp(Transaction& transaction, SpaceRow& space, Stamp at_least) {
  const Stamp stamp{
      std::max({space.last_stamp + 1, space.stamp_base + 1, at_least.value, transaction.wall_us})};
  space.last_stamp = stamp.value;
  if (transaction.syncs_all || stamp.value <= space.stamp_ceiling) {
    transaction.db.use("UPDATE space SET last_stamp = ?").bind(stamp.value).run();
    return stamp;
  }
  space.stamp_ceiling = ceiling_above(stamp.value);
  transaction.db.use("UPDATE space SET last_stamp = ?, stamp_ceiling = ?")
      .bind(stamp.value, space.stamp_ceiling)
      .run();
  // Nobody sees the new ceiling, and draws a stamp below it, before it is on the disk.
  transaction.must_survive = true;
  return stamp;
}

}  // namespace lockset::sqlite
