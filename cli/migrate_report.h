// The state of a migration, as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "lockset/migration.h"

namespace lockset::cli {

// The addresses must be redacted.
std::string report_text(const MigrationStatus& status, const std::string& from,
                        const std::string& to);
std::string report_json(const MigrationStatus& status, const std::string& from,
                        const std::string& to);

}  // namespace lockset::cli
