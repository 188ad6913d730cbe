#include "backends/postgresql/rights.h"

#include <algorithm>
#include <pqxx/pqxx>

#include "backends/postgresql/script.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/lock_set.h"

namespace lockset::postgresql {
namespace {

// The server would cut off the rest, and the name would then be another role's.
constexpr std::size_t longest_account = 63;

// Quoted as an argument for a shell.
std::string for_shell(const std::string& account) {
  const bool plain = std::all_of(account.begin(), account.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (plain && !account.empty()) return account;
  std::string text = "'";
  for (const char c : account) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// Columns about a schema n, its owner o and the user u.
constexpr std::string_view trusted_columns =
    "(o.oid = u.oid OR o.rolsuper OR NOT (u.rolsuper OR u.rolcreaterole))";
constexpr std::string_view about_is_the_owners =
    "NOT EXISTS (SELECT FROM pg_proc p WHERE p.proname = 'about' AND p.pronamespace = n.oid "
    "AND p.proowner <> n.nspowner)";

std::string from_schema(const std::string& space) {
  return " FROM pg_namespace n JOIN pg_roles o ON o.oid = n.nspowner "
         "JOIN pg_roles u ON u.rolname = current_user WHERE n.nspname = '" +
         space + "'";
}

}  // namespace

Status check_account(std::string_view account) {
  const auto invalid = [&](const std::string& why) {
    return Error{Errc::invalid, in_quotes(account) + " is no name of a PostgreSQL role: " + why};
  };
  if (account.empty()) return invalid("it is empty");
  if (account.size() > longest_account) return invalid("it has more than 63 bytes");
  if (account == "public" || account == "none") {
    return invalid("the word means something else there; name the user");
  }
  const bool control = std::any_of(account.begin(), account.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
  });
  if (control) return invalid("it has control characters");
  return {};
}

Result<std::string> rights_script(const Options& options, Role role, std::string_view account) {
  if (Status status = check_account(account); !status) return std::move(status).error();
  const std::string what = role == Role::programs ? "a program's rights" : "an operator's rights";
  return "-- Lockset: " + what + " on the space " + options.space + " for " + std::string(account) +
         ".\n-- Run it as the owner of the space, after the script that makes it. Running it again "
         "does no harm.\nBEGIN;" +
         grant_script(options.space, role, std::string(account)) + "COMMIT;\n";
}

Status allow(const Options& options, Role role, std::string_view account, TimePoint by) {
  if (Status status = check_account(account); !status) return status;
  server::SocketWatchdog watchdog;
  const server::Interrupt never;
  Result<std::unique_ptr<Connection>> connection = Connection::connect(
      options, watchdog, never, std::min(by, BootClock::now() + options.connect_timeout));
  if (!connection) return connection.error();
  CallFailure failure;
  const std::string script = grant_script(options.space, role, std::string(account));
  const Result<pqxx::result> done =
      (*connection)->run("BEGIN;" + script + "COMMIT;", Sent::change, by, failure);
  if (done) return {};
  if (failure.sqlstate == "42501") {
    return Error{Errc::misconfigured,
                 "PostgreSQL (" + options.shown +
                     "): only the owner of the space's schema (or a superuser) gives rights on it" +
                     ": run it as that [SQLSTATE 42501]"};
  }
  return done.error();
}

Error not_allowed(const Options& options, Role role, const std::string& user,
                  std::string_view said) {
  const std::string where = "PostgreSQL (" + options.shown + ")";
  const std::string who = "user " + in_quotes(user);
  const std::string account = for_shell(user);
  Error error = takes_an_operator(where, who, account);
  if (role == Role::programs) {
    error.message = where + ": " + who +
                    " has no right to use this space: an administrator grants it: lockset init "
                    "--program " +
                    account;
  }
  error.message += " [" + one_line(said) + ", SQLSTATE 42501]";
  return error;
}

Result<Ownership> ownership(Connection& connection, const Options& options, TimePoint by) {
  CallFailure failure;
  const Result<pqxx::result> result = connection.run(
      std::string(safe_path) + "SELECT o.rolname, o.oid = u.oid, " + std::string(trusted_columns) +
          ", " + std::string(about_is_the_owners) + from_schema(options.space),
      Sent::reading, by, failure);
  if (!result) return result.error();
  Ownership found;
  if (result->empty()) return found;
  const pqxx::row row((*result)[0]);
  found.there = true;
  found.owner = row[0].as<std::string>();
  found.mine = row[1].as<bool>();
  found.trusted = row[2].as<bool>();
  found.about = row[3].as<bool>();
  return found;
}

std::string trust_sql(const Options& options) {
  return "SELECT 1 / (1 - count(*))" + from_schema(options.space) + " AND NOT (" +
         std::string(trusted_columns) + " AND " + std::string(about_is_the_owners) + "); ";
}

Error not_trusted(const Options& options, const Ownership& found) {
  const std::string prefix = "PostgreSQL (" + options.shown + "): the schema " + options.space;
  if (!found.trusted) {
    return {Errc::misconfigured,
            prefix + " belongs to " + in_quotes(found.owner) +
                ", whose functions would run with the rights of a user that may do far more: use "
                "the space as " +
                in_quotes(found.owner) +
                " or as a program or an operator of it, or name another "
                "with space="};
  }
  return {Errc::misconfigured,
          prefix +
              " holds something that Lockset did not make there: the function about() is not "
              "its owner's: have the owner drop it, or name another schema with space="};
}

}  // namespace lockset::postgresql
