// What the holds of both stores say of those who hold them. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lockset/inspection.h"
#include "lockset/migration.h"

namespace lockset::migrate {

// By the phases of this migration; what has a tag of another one stands alone.
MigrationStatus::Holds count_holds(const Inspection& seen, std::uint32_t migration);

// Each once, sorted by application and instance; those who wait only have no holds. Unset: not
// known.
std::vector<MigrationClient> clients_of(const Inspection* in_old, const Inspection* in_new,
                                        std::uint32_t migration);

// Of the holds on "@shadow:<instance>" whose labels read
// "tried=12 granted=11 differences=1 errors=0 skipped=0 median_us=800 p99_us=2100".
// Others are left out.
MigrationStatus::Shadow sum_of_reports(const Inspection& in_new);

}  // namespace lockset::migrate
