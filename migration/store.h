// One of the two stores, for the code that moves a migration on: its configuration, its mark, and
// holds on reserved names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/migrate/side.h"
#include "core/known_hold.h"
#include "core/migration_mark.h"
#include "lockset/backend.h"

namespace lockset::migrate {

// The holds of a process that steers a migration are on names with this prefix.
inline constexpr std::string_view steering_prefix = "@migrate";

// A write hold on one reserved name, released when this goes out of scope.
class ReservedHold;

// For one thread.
class SteeredStore {
 public:
  // `called` is the store's name in messages: "the old store".
  SteeredStore(OpenStore open, std::string_view called) : side_(std::move(open)), called_(called) {}
  SteeredStore(const SteeredStore&) = delete;
  SteeredStore& operator=(const SteeredStore&) = delete;

  [[nodiscard]] const std::string& called() const noexcept { return called_; }
  // Null if the store was not opened yet.
  [[nodiscard]] Backend* opened() const { return side_.opened(); }
  Result<Backend*> get(TimePoint by) { return side_.get(by); }

  // The errors of these calls name the store.
  Result<SpaceConfig> load(TimePoint by);
  Result<Inspection> inspect(TimePoint by, const InspectQuery& query = {});

  // Sets the mark if the configuration still has the version of `seen`. Returns the configuration
  // afterwards. Unset: it had another version, and nothing was changed. A lost reply is looked up.
  Result<std::optional<SpaceConfig>> set_mark(const SpaceConfig& seen, const MigrationMark& mark,
                                              TimePoint by);
  // Later grants get greater stamps than this. Returns the configuration afterwards.
  Result<SpaceConfig> raise_stamps(Stamp at_least, TimePoint by);
  // Draws a stamp now, with a hold that is released again. Unset: the configuration has another
  // version than this.
  Result<std::optional<Stamp>> draw_stamp(std::int64_t config_version, const Owner& owner,
                                          TimePoint by);

  // Error `e`, with the store's name before it.
  [[nodiscard]] Error named(Error e) const;

 private:
  Side side_;
  const std::string called_;
};

class ReservedHold {
 public:
  // Takes a write hold on `name`. Unset: somebody else has it, and `in_the_way` describes that
  // hold. With `only_at_version` also unset, and `in_the_way` too, if the configuration has another
  // version.
  static Result<std::optional<ReservedHold>> take(SteeredStore& store, const std::string& name,
                                                  const Owner& owner, Duration lease, TimePoint by,
                                                  std::optional<Busy>& in_the_way,
                                                  std::optional<std::int64_t> only_at_version = {});
  ReservedHold(ReservedHold&& other) noexcept
      : backend_(std::exchange(other.backend_, nullptr)),
        hold_(std::move(other.hold_)),
        by_(other.by_) {}
  ReservedHold& operator=(ReservedHold&&) = delete;
  // Releases by the deadline that it was taken with; a hold that can't be released ends with its
  // lease.
  ~ReservedHold();

  [[nodiscard]] Stamp stamp() const noexcept { return hold_.stamp; }

 private:
  ReservedHold(Backend& backend, KnownHold hold, TimePoint by)
      : backend_(&backend), hold_(std::move(hold)), by_(by) {}

  Backend* backend_;
  KnownHold hold_;
  TimePoint by_;
};

}  // namespace lockset::migrate
