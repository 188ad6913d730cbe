// Who may do what with a space: `lockset init --program NAME --operator NAME`, and the line for
// somebody who may not.
#pragma once

#include <string>
#include <string_view>

#include "backends/postgresql/address.h"
#include "backends/postgresql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::postgresql {

// What is sent in front of a statement, in the same message: somebody else may have chosen the
// session's search path, and functions for it.
inline constexpr std::string_view safe_path = "SET LOCAL search_path = pg_catalog, pg_temp; ";

// Errc::invalid for what is no name of a role.
Status check_account(std::string_view account);

// For psql.
Result<std::string> rights_script(const Options& options, Role role, std::string_view account);

// In one transaction.
Status allow(const Options& options, Role role, std::string_view account, TimePoint by);

// The server refused a call of this role's to this user. `said` is what it said.
Error not_allowed(const Options& options, Role role, const std::string& user,
                  std::string_view said);

// Whose schema a space is, from the catalogue alone: nothing of it is run.
struct Ownership {
  bool there = false;
  std::string owner;
  bool mine = false;
  // To run what is in it is no risk to this user: it is his own or a superuser's, or he has no
  // great rights himself.
  bool trusted = false;
  // about() is the owner's. Somebody else's may be anything.
  bool about = false;
};
Result<Ownership> ownership(Connection& connection, const Options& options, TimePoint by);

// A statement that fails, with a division by zero, unless the space is trusted as above or is not
// there: to be sent before one that runs a function of it, in the same message, behind safe_path.
std::string trust_sql(const Options& options);
// The line for that.
Error not_trusted(const Options& options, const Ownership& found);

}  // namespace lockset::postgresql
