// What the holds of both stores say about the clients that hold them. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lockset/inspection.h"
#include "lockset/migration.h"

namespace lockset::migrate {

// Counted by the phases of this migration; a hold with a tag of another migration counts as alone.
MigrationStatus::Holds count_holds(const Inspection& seen, std::uint32_t migration);

// Each client once, sorted by application and instance; clients that only wait have no holds.
// Unset: not known.
std::vector<MigrationClient> clients_of(const Inspection* in_old, const Inspection* in_new,
                                        std::uint32_t migration);

// Sums the holds on "@shadow:<instance>" whose labels read "tried=12 granted=11 differences=1
// errors=0 skipped=0 median_us=800 p99_us=2100". Others are left out.
MigrationStatus::Shadow sum_of_reports(const Inspection& in_new);

}  // namespace lockset::migrate
