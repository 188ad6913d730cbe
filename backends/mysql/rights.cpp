#include "backends/mysql/rights.h"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/findings.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/errors.h"
#include "backends/mysql/schema.h"
#include "backends/parameters.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/lock_set.h"

namespace lockset::mysql {
namespace {

using addresses::invalid;
using namespace findings;

// The servers' error numbers for grants.
constexpr int no_such_user = 1133;            // MariaDB
constexpr int no_such_user_to_create = 1410;  // MySQL
constexpr int no_such_grant = 1141;
constexpr int no_such_table_grant = 1147;
constexpr int no_such_procedure_grant = 1403;

// MariaDB would make an account without a password if the name is mistyped. MySQL never does, and
// takes this for a comment.
constexpr std::string_view no_new_accounts =
    "SET SESSION sql_mode = CONCAT(@@SESSION.sql_mode /*M! , ',NO_AUTO_CREATE_USER' */)";

std::string sql_string(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

bool may(Role role, Audience audience) {
  return audience == Audience::everybody ||
         (audience == Audience::operators && role == Role::operators);
}

std::string of_database(const Options& options, const std::string& name) {
  return "`" + options.database + "`." + name;
}

std::string grant_execute(const Options& options, const Procedure& procedure,
                          const Account& account) {
  return "GRANT EXECUTE ON PROCEDURE " + of_database(options, procedure.name) + " TO " +
         account.quoted();
}

std::string revoke_execute(const Options& options, const Procedure& procedure,
                           const Account& account) {
  return "REVOKE EXECUTE ON PROCEDURE " + of_database(options, procedure.name) + " FROM " +
         account.quoted();
}

// A look needs SELECT on the tables that it reads.
std::vector<std::string> grants(const Options& options, Role role, const Account& account) {
  std::vector<std::string> all;
  for (const NamedSql& table : table_texts(options.strategy)) {
    if (!may(role, table.audience)) continue;
    all.push_back("GRANT SELECT ON " +
                  of_database(options, options.space + std::string(table.name)) + " TO " +
                  account.quoted());
  }
  for (const Procedure& procedure : procedures_of(options.space, options.strategy)) {
    if (may(role, procedure.audience)) all.push_back(grant_execute(options, procedure, account));
  }
  return all;
}

std::string record(const Options& options, Role role, const Account& account) {
  const std::string is_operator = role == Role::operators ? "1" : "0";
  return "INSERT INTO " + of_database(options, options.space + "_accounts") + " VALUES (" +
         hex_literal(account.user) + ", " + hex_literal(account.host) + ", " + is_operator +
         ") ON DUPLICATE KEY UPDATE operator = " + is_operator;
}

// The account as lockset init takes it for a role: 'app'@'%' or "app".
std::string shown(const Account& account) {
  return account.host == "%" ? "'" + account.user + "'" : account.quoted();
}

class Rights {
 public:
  Rights(Connection& connection, const Options& options, TimePoint by)
      : connection_(connection), options_(options), by_(by) {}

  Result<Reply> say(const std::string& sql) {
    failure_ = {};
    return connection_.run(sql, Sent::reading, by_, failure_);
  }
  [[nodiscard]] int code() const { return failure_.code; }
  [[nodiscard]] bool nobody_there() const {
    return code() == no_such_user || code() == no_such_user_to_create;
  }
  [[nodiscard]] bool nothing_to_revoke() const {
    return code() == no_such_grant || code() == no_such_table_grant ||
           code() == no_such_procedure_grant;
  }
  [[nodiscard]] bool denied() const {
    constexpr std::array codes{1044, 1045, 1142, 1227, 1370};
    return std::find(codes.begin(), codes.end(), code()) != codes.end();
  }
  [[nodiscard]] Error misfit(const std::string& why) const {
    return Error{Errc::misconfigured, options_.shown() + ": " + why};
  }

  Status give(Role role, const Account& account) {
    if (Result<Reply> mode = say(std::string(no_new_accounts)); !mode) return mode.error();
    if (Status owner = refuse_definer(account); !owner) return owner;
    // Recorded first: if this is interrupted, the next init completes it.
    if (Result<Reply> noted = say(record(options_, role, account)); !noted) return noted.error();
    for (const std::string& grant : grants(options_, role, account)) {
      if (Result<Reply> done = say(grant); !done) {
        return refused(account, done.error());
      }
    }
    if (role == Role::operators) return {};
    for (const Procedure& procedure : procedures_of(options_.space, options_.strategy)) {
      if (may(role, procedure.audience)) continue;
      const Result<Reply> gone = say(revoke_execute(options_, procedure, account));
      if (!gone && !nothing_to_revoke()) return refused(account, gone.error());
    }
    return refuse_broad_rights(account);
  }

  Status forget(const Account& account) {
    const Result<Reply> gone = say("DELETE FROM " + options_.space +
                                   "_accounts WHERE user = " + hex_literal(account.user) +
                                   " AND host = " + hex_literal(account.host));
    return gone ? Status() : gone.error();
  }

 private:
  Status refused(const Account& account, const Error& error) {
    const bool nobody = nobody_there();
    const bool no_right = denied();
    if (nobody) {
      static_cast<void>(forget(account).ok());
      return misfit("there is no account " + account.quoted() +
                    ": create it first (CREATE USER), or name the host it comes from: "
                    "user@host");
    }
    if (no_right) {
      return misfit(
          "this user may not give rights: it needs them itself WITH GRANT OPTION; run this as "
          "an administrator" +
          said(error));
    }
    return error;
  }

  static std::string said(const Error& error) {
    const std::size_t at = error.message.rfind(" (");
    return at == std::string::npos ? "" : error.message.substr(at);
  }

  // The definer owns the procedures and can't be kept from them.
  Status refuse_definer(const Account& account) {
    const Result<Reply> definer = say("CALL " + options_.space + "_definer()");
    if (!definer || definer->rows.empty() || definer->text(0) != account.quoted()) return {};
    return misfit(account.quoted() +
                  " made the lock space and may do everything in it: let programs and operators "
                  "have accounts of their own");
  }

  // Refuses rights that older versions' documentation advised, as far as this user may see them.
  Status refuse_broad_rights(const Account& account) {
    const std::string grantee = hex_literal(account.quoted());
    const Result<Reply> broad =
        say("SELECT 1 FROM information_schema.schema_privileges WHERE privilege_type = 'EXECUTE' "
            "AND DATABASE() LIKE table_schema AND CAST(grantee AS BINARY) = " +
            grantee +
            " UNION ALL SELECT 2 FROM information_schema.user_privileges "
            "WHERE privilege_type = 'EXECUTE' AND CAST(grantee AS BINARY) = " +
            grantee);
    if (!broad) return broad.error();
    if (broad->rows.empty()) return {};
    const std::string where =
        broad->number(0) == 1 ? "`" + options_.database + "`.*" : std::string("*.*");
    return misfit(account.quoted() +
                  " has a program's rights now, and an operator's besides, for "
                  "it may execute every procedure: REVOKE EXECUTE ON " +
                  where + " FROM " + account.quoted());
  }

  Connection& connection_;
  const Options& options_;
  const TimePoint by_;
  CallFailure failure_;
};

Result<std::string> part(std::string_view& text) {
  std::string value;
  if (!text.starts_with('\'')) {
    // Without quotes, the host begins after the last @.
    const std::size_t end = std::min(text.rfind('@'), text.size());
    value = text.substr(0, end);
    text.remove_prefix(end);
    return value;
  }
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '\'') {
      value += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '\'') {
      value += text[i++];
    } else {
      text.remove_prefix(i + 1);
      return value;
    }
  }
  return invalid("a quote is not closed");
}

}  // namespace

std::string Account::quoted() const { return sql_string(user) + "@" + sql_string(host); }

Result<Account> parse_account(std::string_view text) {
  const Error wrong = invalid(
      "an account of MySQL is user or user@host, for example app or 'app'@'10.0.0.%', not " +
      in_quotes(text));
  std::string_view rest = text;
  Account account;
  Result<std::string> user = part(rest);
  if (!user) return wrong;
  account.user = *std::move(user);
  if (!rest.empty()) {
    if (!rest.starts_with('@')) return wrong;
    rest.remove_prefix(1);
    Result<std::string> host = part(rest);
    if (!host || !rest.empty()) return wrong;
    account.host = *std::move(host);
  }
  // Whether a backslash escapes depends on the session that runs the text.
  const auto harmless = [](std::string_view name, std::size_t most) {
    return !name.empty() && name.size() <= most &&
           std::all_of(name.begin(), name.end(), [](unsigned char c) {
             return c >= ' ' && c != 0x7F && c != '\\' && c != '`' && c != '"';
           });
  };
  if (!harmless(account.user, 128) || !harmless(account.host, 255)) return wrong;
  return account;
}

Result<std::string> rights_script(const Options& options, Role role, std::string_view text) {
  const Result<Account> account = parse_account(text);
  if (!account) return account.error();
  std::string script = std::string("-- ") +
                       (role == Role::operators ? "An operator" : "A program") + ": " +
                       account->quoted() + "\n" + std::string(no_new_accounts) + ";\n" +
                       record(options, role, *account) + ";\n";
  for (const std::string& grant : grants(options, role, *account)) script += grant + ";\n";
  if (role == Role::operators) return script;
  // Revoking a right that is not there is an error, so it is granted first.
  for (const Procedure& procedure : procedures_of(options.space, options.strategy)) {
    if (may(role, procedure.audience)) continue;
    script += grant_execute(options, procedure, *account) + ";\n" +
              revoke_execute(options, procedure, *account) + ";\n";
  }
  return script;
}

Status allow(const Options& options, Role role, std::string_view text, TimePoint by) {
  const Result<Account> account = parse_account(text);
  if (!account) return account.error();
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(options, watchdog, by);
  if (!connection) return connection.error();
  if (Status fits = check_schema(**connection, options, by); !fits) return fits;
  return Rights(**connection, options, by).give(role, *account);
}

Result<std::vector<RoleOf>> roles_given(Connection& connection, const Options& options,
                                        TimePoint by) {
  Rights rights(connection, options, by);
  if (Result<Reply> mode = rights.say(std::string(no_new_accounts)); !mode) return mode.error();
  const Result<Reply> rows =
      rights.say("SELECT user, host, operator FROM " + options.space + "_accounts");
  if (!rows) return rows.error();
  std::vector<RoleOf> roles;
  const std::vector<Procedure> procedures = procedures_of(options.space, options.strategy);
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    RoleOf found{{rows->text(0, row), rows->text(1, row)},
                 rows->number(2, row) == 1 ? Role::operators : Role::programs};
    // Tries to grant again a right that the account has: on the first procedure that exists.
    bool gone = false;
    for (const Procedure& procedure : procedures) {
      if (!may(found.role, procedure.audience)) continue;
      const Result<Reply> done = rights.say(grant_execute(options, procedure, found.account));
      gone = !done && rights.nobody_there();
      if (done || gone) break;
      if (!rights.denied()) continue;  // this procedure is not there
      return rights.misfit("making the procedures anew takes away the rights of " +
                           found.account.quoted() +
                           ", which this user may not give again: it needs EXECUTE on the database "
                           "WITH GRANT OPTION");
    }
    if (!gone) {
      roles.push_back(std::move(found));
    } else if (Status forgotten = rights.forget(found.account); !forgotten) {
      return forgotten.error();
    }
  }
  return roles;
}

Status give_again(Connection& connection, const Options& options, const std::vector<RoleOf>& roles,
                  const Procedure& procedure, TimePoint by) {
  Rights rights(connection, options, by);
  for (const RoleOf& each : roles) {
    if (!may(each.role, procedure.audience)) continue;
    const Result<Reply> done = rights.say(grant_execute(options, procedure, each.account));
    if (!done && !rights.nobody_there()) return done.error();
  }
  return {};
}

std::vector<Finding> examine_rights(Connection& connection, const Options& options, TimePoint by) {
  Rights rights(connection, options, by);
  std::vector<Finding> findings;
  const Result<Reply> definer = rights.say("CALL " + options.space + "_definer()");
  if (!definer || definer->rows.size() != 1) {
    findings.push_back(unreadable(Level::warning, "definer",
                                  "this user may not ask with whose rights the procedures work"));
    return findings;
  }
  const std::string& owner = definer->text(0);
  const std::string& privileges = definer->text(1);
  const auto has = [&](std::string_view name) {
    return (", " + privileges + ",").find(", " + std::string(name) + ",") != std::string::npos;
  };
  std::string bypass;
  for (const char* const name :
       {"SUPER", "CONNECTION_ADMIN", "READ_ONLY ADMIN", "READ ONLY ADMIN"}) {
    if (has(name)) bypass += (bypass.empty() ? "" : ", ") + std::string(name);
  }
  const std::string work = "the procedures work with the rights of " + owner;
  findings.push_back(good_if(
      privileges.empty(), Level::warning, "definer",
      work + ", which has none outside of its databases",
      work + ", which has some on the whole server" +
          (bypass.empty() ? "" : " and may write to a read-only one (" + bypass + ")") +
          ": whoever may make views, triggers or procedures in this database could use them; "
          "run lockset init as an account with rights on this database alone"));
  const Result<Reply> me = rights.say("SELECT CURRENT_USER()");
  if (!me || me->rows.size() != 1) return findings;
  const std::string& name = me->text(0);
  const std::size_t at = std::min(name.rfind('@'), name.size());
  const Account account{name.substr(0, at), at < name.size() ? name.substr(at + 1) : ""};
  if (account.quoted() == owner) {
    findings.push_back(findings::owner(account.quoted()));
    return findings;
  }
  // There is no stamp 0: the call breaks and deletes nothing.
  const bool breaks = rights.say("CALL " + options.space + "_break(0)").ok() || !rights.denied();
  const bool everything =
      rights
          .say("CALL " + options.space + std::string(procedure_of_nobody(options.strategy)) + "(0)")
          .ok() ||
      !rights.denied();
  if (everything) {
    findings.push_back(warning(
        "rights", account.quoted() +
                      " may execute every procedure, an operator's too: for a program, lockset "
                      "init --program " +
                      shown(account) +
                      " as the administrator, and REVOKE EXECUTE on the database"));
  } else {
    findings.push_back(
        findings::rights(account.quoted(), breaks ? Role::operators : Role::programs));
  }
  return findings;
}

}  // namespace lockset::mysql
