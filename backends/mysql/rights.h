// Which accounts of the server may do what in a space. ADR 0017 says why procedure by
// procedure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "backends/mysql/sql.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::mysql {

// An account of MySQL and MariaDB: a user, and from where.
struct Account {
  std::string user;
  std::string host = "%";

  [[nodiscard]] std::string quoted() const;  // 'o''brien'@'%', for SQL
};

// "app", "app@10.0.0.%", or both parts in quotes as SQL has them. Errc::invalid for what can't be
// an account.
Result<Account> parse_account(std::string_view text);

// Registry: rights_script and allow.
Result<std::string> rights_script(const Options& options, Role role, std::string_view account);
Status allow(const Options& options, Role role, std::string_view account, TimePoint by);

// For init. Whether this user may give these procedures' rights again to those that have a role:
// asked before anything is taken away. Then that itself, for one procedure.
struct RoleOf {
  Account account;
  Role role;
};
Result<std::vector<RoleOf>> roles_given(Connection& connection, const Options& options,
                                        TimePoint by);
Status give_again(Connection& connection, const Options& options, const std::vector<RoleOf>& roles,
                  const Procedure& procedure, TimePoint by);

// For `lockset doctor`: with whose rights the procedures work, and what this account may do.
std::vector<Finding> examine_rights(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
