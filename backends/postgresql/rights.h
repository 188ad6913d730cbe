// Who may do what with a space: `lockset init --program NAME --operator NAME`, and the error
// message for a user without the right.
#pragma once

#include <string>
#include <string_view>

#include "backends/postgresql/address.h"
#include "backends/postgresql/connection.h"
#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/registry.h"

namespace lockset::postgresql {

// Sent before a statement, in the same message: somebody else may have chosen the session's search
// path, and functions for it.
inline constexpr std::string_view safe_path = "SET LOCAL search_path = pg_catalog, pg_temp; ";

// Errc::invalid if it can't be the name of a role.
Status check_account(std::string_view account);

// For psql.
Result<std::string> rights_script(const Options& options, Role role, std::string_view account);

// In one transaction.
Status allow(const Options& options, Role role, std::string_view account, TimePoint by);

// The server refused a call of this role to this user. `said` is its message.
Error not_allowed(const Options& options, Role role, const std::string& user,
                  std::string_view said);

// The owner of a space's schema, from the catalogue alone: nothing in the schema is run.
struct Ownership {
  bool there = false;
  std::string owner;
  bool mine = false;
  // Running the schema's code is no risk to this user: the schema is the user's own or a
  // superuser's, or the user has no great rights.
  bool trusted = false;
  // about() belongs to the owner. Another user's may be anything.
  bool about = false;
};
Result<Ownership> ownership(Connection& connection, const Options& options, TimePoint by);

// A statement that fails, with a division by zero, unless the space is trusted as above or does not
// exist. Sent before a statement that runs a function of the space, in the same message, after
// safe_path.
std::string trust_sql(const Options& options);
// The error message for that.
Error not_trusted(const Options& options, const Ownership& found);

}  // namespace lockset::postgresql
