#include "backends/sqlite/config.h"

#include <algorithm>
#include <chrono>

namespace lockset::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

std::optional<std::uint32_t> permits_at(const Query& row, int column) {
  if (row.is_null(column)) return {};
  return static_cast<std::uint32_t>(row.integer(column));
}

void save_entry(Transaction& transaction, const SpaceConfig& config, const std::string& name) {
  const auto entry = config.permits.find(name);
  if (entry == config.permits.end()) {
    transaction.db.use("DELETE FROM permits WHERE name = ?").bind(Blob{name}).run();
    return;
  }
  const auto as_integer = [](std::optional<std::uint32_t> permits) -> std::optional<std::int64_t> {
    if (!permits) return {};
    return std::int64_t{*permits};
  };
  transaction.db.use("INSERT OR REPLACE INTO permits VALUES (?,?,?)")
      .bind(Blob{name}, as_integer(entry->second.read), as_integer(entry->second.write))
      .run();
}

}  // namespace

SpaceConfig load(Transaction& transaction) {
  SpaceConfig config;
  {
    Query row = transaction.db.use(
        "SELECT config_version, max_lease_us, migration_phase, stamp_base, max_overtakes "
        "FROM space");
    if (row.next()) {
      config.version = row.integer(0);
      config.max_lease = microseconds(row.integer(1));
      config.migration_phase = row.integer(2);
      config.stamp_base = Stamp{row.integer(3)};
      config.max_overtakes = static_cast<std::uint32_t>(row.integer(4));
    }
  }
  {
    Query row = transaction.db.use("SELECT name, reads, writes FROM permits");
    while (row.next()) config.permits[row.text(0)] = {permits_at(row, 1), permits_at(row, 2)};
  }
  Query row = transaction.db.use("SELECT app, epoch FROM epochs");
  while (row.next()) config.epochs[row.text(0)] = row.integer(1);
  return config;
}

SpaceConfig apply(Transaction& transaction, const ConfigChange& change) {
  SpaceConfig config = load(transaction);
  const std::int64_t before = config.version;
  config = changed(std::move(config), change);
  if (config.version == before) return config;  // refused: nothing is written
  config.version = std::max(config.version, transaction.wall_us);
  transaction.must_survive = true;
  transaction.db
      .use(
          "UPDATE space SET config_version = ?, max_lease_us = ?, migration_phase = ?, "
          "stamp_base = ?, max_overtakes = ?")
      .bind(config.version, duration_cast<microseconds>(config.max_lease).count(),
            config.migration_phase, config.stamp_base.value, std::int64_t{config.max_overtakes})
      .run();
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    save_entry(transaction, config, permits->name);
  }
  return config;
}

void set_epoch(Transaction& transaction, std::string_view app, std::int64_t epoch) {
  transaction.must_survive = true;
  transaction.db.use("INSERT OR REPLACE INTO epochs VALUES (?,?)").bind(Text{app}, epoch).run();
  transaction.db.use("UPDATE space SET config_version = max(config_version + 1, ?)")
      .bind(transaction.wall_us)
      .run();
}

}  // namespace lockset::sqlite
