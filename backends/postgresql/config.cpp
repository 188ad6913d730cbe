// The configuration of the space.
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "backends/answers.h"
#include "backends/postgresql/backend.h"

namespace lockset::postgresql {
namespace {

using std::chrono::microseconds;

// Errc::unavailable while the space's rows are being put back from a backup: without them, the
// defaults would pass for its configuration.
Result<SpaceConfig> config_from(const pqxx::result& rows, const std::string& shown) {
  SpaceConfig config;
  bool has_version = false;
  bool has_longest = false;
  for (const auto& row : rows) {
    const std::string kind = row[0].as<std::string>();
    if (row[3].is_null()) continue;
    has_version = has_version || kind == "v";
    has_longest = has_longest || kind == "l";
    const std::int64_t value = row[3].as<std::int64_t>();
    if (kind == "v") config.version = value;
    if (kind == "l") config.max_lease = microseconds(value);
    if (kind == "o") config.max_overtakes = static_cast<std::uint32_t>(value);
    if (kind == "m") config.migration_phase = value;
    if (kind == "b") config.stamp_base = Stamp{value};
    if (kind == "e") config.epochs[row[1].as<std::string>()] = value;
    if (kind == "p") {
      SpaceConfig::Entry& entry = config.permits[row[1].as<std::string>()];
      const bool reads = mode_from(row[2].as<std::string>()) == Mode::read;
      (reads ? entry.read : entry.write) = static_cast<std::uint32_t>(value);
    }
  }
  if (!has_version || !has_longest) return is_incomplete(shown);
  return config;
}

}  // namespace

Result<SpaceConfig> PostgresqlBackend::load_config(TimePoint by) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows = store_->call(Lane::common, load_, by, failure, collisions);
  if (!rows) return rows.error();
  return config_from(*rows, store_->options().shown);
}

Result<SpaceConfig> PostgresqlBackend::change_config(const ConfigChange& change, TimePoint by) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const auto apply = [&](const char* what, const std::string& name, const char* mode,
                         std::optional<std::int64_t> value) -> Result<SpaceConfig> {
    const std::string text = value ? std::to_string(*value) : std::string();
    const Result<pqxx::result> rows =
        store_->call(Lane::common, change_, by, failure, collisions, what, name, mode,
                     value ? text.c_str() : static_cast<const char*>(nullptr));
    if (!rows) return rows.error();
    return config_from(*rows, store_->options().shown);
  };
  if (const auto* permits = std::get_if<SetPermits>(&change)) {
    return apply("p", permits->name, permits->mode == Mode::read ? "r" : "w", permits->permits);
  }
  if (const auto* lease = std::get_if<SetMaxLease>(&change)) {
    return apply("l", "", "", micros(lease->max_lease));
  }
  if (const auto* overtakes = std::get_if<SetMaxOvertakes>(&change)) {
    if (!traits().bounded_overtaking) return unbounded_overtaking();
    return apply("o", "", "", overtakes->max_overtakes);
  }
  if (const auto* phase = std::get_if<SetMigrationPhase>(&change)) {
    if (!phase->only_at_version) return apply("m", "", "", phase->phase);
    const Result<pqxx::result> rows = store_->call(
        Lane::common, change_at_, by, failure, collisions, *phase->only_at_version, phase->phase);
    if (!rows) return rows.error();
    return config_from(*rows, store_->options().shown);
  }
  return apply("b", "", "", std::get<RaiseStampBase>(change).at_least.value);
}

}  // namespace lockset::postgresql
