// The server's settings that matter to a lock, and the findings about them.
#pragma once

#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "lockset/registry.h"

namespace lockset::postgresql {

// An SQL list of expressions for judge().
extern const char* const settings_columns;

struct Settings {
  int version = 0;  // 150018
  std::string encoding;
  std::string fsync;
  std::string full_page_writes;
  std::string synchronous_commit;
  bool standby = false;
  bool read_only = false;
  // Warnings reach us. A session without a pooler sets that itself.
  bool warns = true;
};

// `first` is the column at which settings_columns begin.
Settings read_settings(const pqxx::row& row, int first);

// The findings that are worth reporting; with `all`, also the settings that are as they should be.
std::vector<Finding> judge(const Settings& settings, bool all);

}  // namespace lockset::postgresql
