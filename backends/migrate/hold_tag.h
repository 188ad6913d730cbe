// The phase in which a hold was taken, as recorded at the end of the instance in its record, so
// that no store needs to know about it: "3f09...-0.1.0+3:1a2b3c4d.17000000000000001".
//
// Plain values; thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lockset/migration_phase.h"
#include "lockset/stamp.h"

namespace lockset::migrate {

struct HoldTag {
  MigrationPhase phase = MigrationPhase::old_only;
  // In the new store: the stamp of the same hold in the old one; 0 if it has none.
  Stamp in_old = {};
  // Identifies the migration: a tag of an earlier one does not count for this one. 0 in old-only.
  std::uint32_t migration = 0;
  bool operator==(const HoldTag&) const = default;
};

// `instance` followed by the tag.
std::string tagged(std::string_view instance, const HoldTag& tag);
// Unset for a client that knows of no migration.
std::optional<HoldTag> tag_of(std::string_view instance);
// Also unset for a tag of another migration. A tag of old-only belongs to none, and is returned.
std::optional<HoldTag> tag_of(std::string_view instance, std::uint32_t migration);
// `instance` without its tag.
std::string_view without_tag(std::string_view instance);
// "0.1.0" from a record's instance, tagged or not; empty if it has no version.
std::string version_of(std::string_view instance);

}  // namespace lockset::migrate
