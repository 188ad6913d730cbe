// Findings of `lockset doctor` and `lockset migrate plan`, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/registry.h"

namespace lockset::cli {

// "ok", "warning" or "unsafe".
std::string_view word_of(Finding::Level level);
Finding::Level worst_of(const std::vector<Finding>& findings);
std::string table_of(const std::vector<Finding>& findings);
nlohmann::ordered_json json_of(const std::vector<Finding>& findings);

}  // namespace lockset::cli
