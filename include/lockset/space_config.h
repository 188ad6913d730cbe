// Everything besides the holds that an acquire depends on, under one version number. Semantics 6
// and 7.
//
// Thread-safety: plain values. A client shares one immutable copy between threads.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "lockset/clock.h"
#include "lockset/export.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

// How many holds of each mode a name admits at once.
struct Permits {
  std::uint32_t read = 1;
  std::uint32_t write = 1;

  [[nodiscard]] std::uint32_t of(Mode mode) const noexcept {
    return mode == Mode::read ? read : write;
  }
  bool operator==(const Permits&) const = default;
};

inline constexpr std::uint32_t max_permits = 1'000'000'000;

// For SpaceConfig::max_overtakes: waiters are overtaken without a bound.
inline constexpr std::uint32_t unlimited_overtakes = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint32_t default_max_overtakes = 4;

// The permits of this name are the default of every name without its own.
inline constexpr std::string_view default_permits_name = "*";

struct SpaceConfig {
  // One entry of the permits table; a mode that is unset takes the default.
  struct Entry {
    std::optional<std::uint32_t> read;
    std::optional<std::uint32_t> write;
    bool operator==(const Entry&) const = default;
  };

  // Every change of a member raises it to max(version + 1, the clock in microseconds). It never
  // goes back.
  std::int64_t version = 0;
  std::map<std::string, Entry, std::less<>> permits;
  // Application id -> epoch of the instance that reclaimed last (semantics 12).
  std::map<std::string, std::int64_t, std::less<>> epochs;
  Duration max_lease = std::chrono::minutes(10);
  // How many grants that were asked for later may come before a waiter whose names they have
  // (semantics 13). 0: none, so waiters are served strictly in turn.
  std::uint32_t max_overtakes = default_max_overtakes;
  // The phase of a migration between stores (core/migration_mark.h); 0 if there is none.
  std::int64_t migration_phase = 0;
  // Every stamp granted from now on is greater than this.
  Stamp stamp_base;

  // The name's own permits, else those of `*`, else 1, for each mode separately.
  [[nodiscard]] Permits permits_of(std::string_view name) const;

  bool operator==(const SpaceConfig&) const = default;
};

// One change of the configuration. A backend applies it and raises the version
// in one atomic step.
struct SetPermits {
  std::string name;  // or "*"
  Mode mode = Mode::read;
  std::optional<std::uint32_t> permits;  // unset: back to the default
};
struct SetMaxLease {
  Duration max_lease{};
};
struct SetMaxOvertakes {
  std::uint32_t max_overtakes = default_max_overtakes;
};
struct SetMigrationPhase {
  std::int64_t phase = 0;
  // If set, the change applies only to a configuration of exactly this version. Otherwise nothing
  // is changed, and the answer is the configuration as it is. So a change that arrives late undoes
  // nothing.
  std::optional<std::int64_t> only_at_version = {};
};
struct RaiseStampBase {
  Stamp at_least;  // a lower value than the present one changes nothing
};
using ConfigChange =
    std::variant<SetPermits, SetMaxLease, SetMaxOvertakes, SetMigrationPhase, RaiseStampBase>;

// Errc::invalid unless a backend may apply the change: permits between 1 and max_permits for a
// valid name, a max_lease between 1 s and 30 days, max_overtakes of at most 1'000'000 or unlimited.
Status check_change(const ConfigChange& change);

// `config` after `change`. The version is raised by one, unless the change is refused
// (SetMigrationPhase::only_at_version). For backends that keep the configuration in memory, and for
// tests.
SpaceConfig changed(SpaceConfig config, const ConfigChange& change);

}  // namespace LOCKSET_EXPORT
