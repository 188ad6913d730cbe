// What there is to know of a migration, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "lockset/migration.h"

namespace lockset::cli {

// The addresses are redacted ones.
std::string report_text(const MigrationStatus& status, const std::string& from,
                        const std::string& to);
std::string report_json(const MigrationStatus& status, const std::string& from,
                        const std::string& to);

}  // namespace lockset::cli
