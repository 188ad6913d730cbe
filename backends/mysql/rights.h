// What accounts of the server may do in a space. ADR 0017 says why rights are given procedure by
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

// An account of MySQL and MariaDB: a user and the hosts it may come from.
struct Account {
  std::string user;
  std::string host = "%";

  [[nodiscard]] std::string quoted() const;  // 'o''brien'@'%', for SQL
};

// "app", "app@10.0.0.%", or both parts in quotes as in SQL. Errc::invalid if it can't be an
// account.
Result<Account> parse_account(std::string_view text);

// Registry: rights_script and allow.
Result<std::string> rights_script(const Options& options, Role role, std::string_view account);
Status allow(const Options& options, Role role, std::string_view account, TimePoint by);

// For init. Before anything is taken away: whether this user may give the rights on these
// procedures again to the accounts with a role. Then gives them, for one procedure.
struct RoleOf {
  Account account;
  Role role;
};
Result<std::vector<RoleOf>> roles_given(Connection& connection, const Options& options,
                                        TimePoint by);
Status give_again(Connection& connection, const Options& options, const std::vector<RoleOf>& roles,
                  const Procedure& procedure, TimePoint by);

// For `lockset doctor`: with whose rights the procedures run, and what this account may do.
std::vector<Finding> examine_rights(Connection& connection, const Options& options, TimePoint by);

}  // namespace lockset::mysql
