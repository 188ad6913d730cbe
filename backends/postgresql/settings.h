// The server's settings that matter to a lock, and what is to be said of them.
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
  // Warnings reach us. A session of our own sets that itself.
  bool warns = true;
};

// `first` is the column at which settings_columns begin.
Settings read_settings(const pqxx::row& row, int first);

// What of them is worth saying; with those that are as they should be, if `all`.
std::vector<Finding> judge(const Settings& settings, bool all);

}  // namespace lockset::postgresql
