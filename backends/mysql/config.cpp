// The configuration of the space.
#include <chrono>
#include <string>
#include <string_view>

#include "backends/answers.h"
#include "backends/mysql/backend.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/sql.h"

namespace lockset::mysql {
namespace {

using std::chrono::microseconds;

// The row of the permits that says how often a waiter is overtaken: of no name, and of this mode.
constexpr std::int64_t overtakes_mode = 2;

constexpr std::string_view config_sql =
    "SELECT 'space', NULL, config_version, max_lease_us, migration_phase, stamp_base "
    "FROM {space}_space WHERE id = 1 "
    "UNION ALL SELECT 'permits', name, mode, permits, NULL, NULL FROM {space}_lock_permits "
    "UNION ALL SELECT 'epoch', app, epoch, NULL, NULL, NULL FROM {space}_epochs";

SpaceConfig config_from(const Reply& answer) {
  SpaceConfig config;
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    const std::string& kind = answer.text(0, row);
    if (kind == "space") {
      config.version = answer.number(2, row);
      config.max_lease = microseconds(answer.number(3, row));
      config.migration_phase = answer.number(4, row);
      config.stamp_base = Stamp{answer.number(5, row)};
    } else if (kind == "permits" && answer.number(2, row) == overtakes_mode) {
      config.max_overtakes = static_cast<std::uint32_t>(answer.number(3, row));
    } else if (kind == "permits") {
      SpaceConfig::Entry& entry = config.permits[answer.text(1, row)];
      (mode_of(answer.number(2, row)) == Mode::read ? entry.read : entry.write) =
          static_cast<std::uint32_t>(answer.number(3, row));
    } else if (kind == "epoch") {
      config.epochs[answer.text(1, row)] = answer.number(2, row);
    }
  }
  return config;
}

}  // namespace

Result<SpaceConfig> MysqlBackend::load_config(TimePoint by) {
  const Result<Reply> rows =
      store_->run(filled_in(config_sql, store_->options().space), Sent::reading, by);
  if (!rows) return rows.error();
  return config_from(*rows);
}

Result<SpaceConfig> MysqlBackend::change_config(const ConfigChange& change, TimePoint by) {
  CallText call(store_->name("_change"));
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    call.bytes("permits").bytes(permits->name).number(number(permits->mode));
    if (permits->permits) {
      call.number(*permits->permits);
    } else {
      call.null();
    }
    call.null();
  } else if (const auto* lease = std::get_if<SetMaxLease>(&change)) {
    call.bytes("max_lease").null().null().number(us(lease->max_lease)).null();
  } else if (const auto* overtakes = std::get_if<SetMaxOvertakes>(&change)) {
    call.bytes("permits").bytes("").number(overtakes_mode).number(overtakes->max_overtakes).null();
  } else if (const auto* phase = std::get_if<SetMigrationPhase>(&change)) {
    call.bytes("phase").null().null().number(phase->phase);
    if (phase->only_at_version) {
      call.number(*phase->only_at_version);
    } else {
      call.null();
    }
  } else if (const auto* base = std::get_if<RaiseStampBase>(&change)) {
    call.bytes("stamp_base").null().null().number(base->at_least.value).null();
  }
  const Result<Reply> rows = store_->run(call.str(), Sent::change, by);
  if (!rows) return rows.error();
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    if (rows->text(0, row) == "wake") wake(rows->text(1, row), by);
  }
  return config_from(*rows);
}

}  // namespace lockset::mysql
