#include "backends/mysql/schema.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "backends/findings.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/rights.h"
#include "backends/mysql/sql.h"
#include "backends/mysql/strangers.h"
#include "backends/server/socket_watchdog.h"
#include "backends/text_hash.h"
#include "lockset/lock_set.h"
#include "lockset/space_config.h"

namespace lockset::mysql {
namespace {

constexpr int no_such_table_code = 1146;
// The schema version whose procedures leave traces.
constexpr int first_with_traces = 3;

// Tells which text of the procedures this program has.
std::string fingerprint(const Options& options) {
  std::string all;
  for (const Procedure& procedure : procedures_of(options.space, options.strategy))
    all += procedure.sql;
  return std::to_string(text_hash(all));
}

std::string first_row(const Options& options) {
  const auto max_lease_us =
      std::chrono::duration_cast<std::chrono::microseconds>(SpaceConfig().max_lease).count();
  return filled_in("INSERT IGNORE INTO {space}_space VALUES (1, " + std::to_string(schema_version) +
                       ", '" + fingerprint(options) + "', {now}, 0, " +
                       std::to_string(max_lease_us) + ", 0)",
                   options.space);
}

// A space that is made, or that comes from a program that compared nothing, is at home here.
std::string first_home(const std::string& space) {
  return filled_in("INSERT IGNORE INTO {space}_home VALUES (1, '', {identity}, {now}, NULL, 0, 0)",
                   space);
}

// Nobody keeps a token yet: the first client settles what the stamps begin with. Where the space
// was there already, it is settled anew, by the new procedures.
std::string first_session_row(const std::string& space) {
  return filled_in("INSERT INTO {space}_session VALUES (1, " + hex_literal(Token::random().hex()) +
                       ", '', 0, 0, 0) ON DUPLICATE KEY UPDATE token = ''",
                   space);
}

// What happened under an older version's procedures left no traces.
std::string forget_traces(const std::string& space) {
  return filled_in(
      "DELETE FROM {space}_traces WHERE EXISTS (SELECT 1 FROM {space}_space "
      "WHERE schema_version < " +
          std::to_string(first_with_traces) + ")",
      space);
}

// An acquire by an older version's procedure that has begun and waits for a name is stale.
std::string say_version(const Options& options) {
  return filled_in(
      "UPDATE {space}_space SET "
      "config_version = IF(schema_version = {schema_version}, config_version, {next_version}), "
      "schema_version = {schema_version}, procedures = '" +
          fingerprint(options) + "'",
      options.space);
}

Error misfit(const Options& options, const std::string& why) {
  return Error{Errc::misconfigured, options.shown() + ": " + why};
}

struct Found {
  bool there = false;
  std::int64_t version = 0;
  std::string procedures;
  bool session = false;  // made with strategy=session
};

Result<Found> look(Connection& connection, const Options& options, TimePoint by) {
  if (Status table = refuse_view(connection, options, by); !table) return table.error();
  CallFailure failure;
  const Result<Reply> row = connection.run(
      "SELECT schema_version, procedures FROM " + options.space + "_space WHERE id = 1",
      Sent::reading, by, failure);
  if (!row && failure.code == no_such_table_code) return Found{};
  if (!row) return row.error();
  if (row->rows.empty()) return Found{};
  const Result<Reply> kind = connection.run(
      "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND "
      "table_name = _utf8mb4 " +
          hex_literal(options.space + "_session"),
      Sent::reading, by, failure);
  if (!kind) return kind.error();
  return Found{true, row->number(0), row->text(1), kind->number(0) > 0};
}

// Its tables and procedures are others'.
Status refuse_other_kind(const Found& found, const Options& options) {
  if (found.session == (options.strategy == Strategy::session)) return {};
  return misfit(options, found.session
                             ? "the lock space was made with strategy=session: say so in the "
                               "address, or choose another space"
                             : "the lock space was made without strategy=session: leave that out "
                               "of the address, or choose another space");
}

Status judge(const Found& found, const Options& options) {
  if (!found.there) {
    return misfit(options,
                  "there is no lock space here: run lockset init, or check the database "
                  "and the parameter space");
  }
  const std::string versions = "the lock space has schema version " +
                               std::to_string(found.version) + ", and this program knows version " +
                               std::to_string(schema_version);
  if (found.version < schema_version) return misfit(options, versions + ": run lockset init");
  if (found.version > schema_version) return misfit(options, versions + ": update this program");
  if (Status kind = refuse_other_kind(found, options); !kind) return kind;
  if (found.procedures != fingerprint(options)) {
    return misfit(options, "the lock space's procedures are another version's: run lockset init");
  }
  return {};
}

class Init {
 public:
  Init(Connection& connection, const Options& options, TimePoint by)
      : connection_(connection), options_(options), by_(by) {}

  Status run() {
    const std::string name =
        "lockset init " + std::to_string(text_hash(options_.database + "." + options_.space));
    const Result<Reply> turn = say("SELECT GET_LOCK('" + name + "', 10)");
    if (!turn) return turn.error();
    if (turn->number(0) != 1) {
      return Error{Errc::unavailable, options_.shown() + ": another lockset init is at work here"};
    }
    if (Status ours = refuse_strangers(connection_, options_, by_); !ours) return ours;
    Result<Found> found = look(connection_, options_, by_);
    if (!found) return found.error();
    if (found->there && found->version > schema_version) return judge(*found, options_);
    if (found->there) {
      if (Status kind = refuse_other_kind(*found, options_); !kind) return kind;
    }
    if (found->there && judge(*found, options_) && complete()) return {};
    if (!found->there) {
      if (Status strangers = refuse_strangers_procedures(); !strangers) return strangers;
    }
    return make(*found);
  }

 private:
  Result<Reply> say(const std::string& sql) {
    CallFailure failure;
    return connection_.run(sql, Sent::reading, by_, failure);
  }

  // Someone may have dropped a procedure, restored only the tables, or made a procedure of the same
  // name, which would run with that user's rights or with its caller's.
  bool complete() {
    const Result<Reply> count =
        say("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = DATABASE() "
            "AND routine_type = 'PROCEDURE' AND security_type = 'DEFINER' "
            "AND definer = CURRENT_USER() AND CAST(routine_name AS BINARY) IN (" +
            names_of_procedures() + ")");
    return count &&
           count->number(0) ==
               static_cast<std::int64_t>(procedures_of(options_.space, options_.strategy).size());
  }

  [[nodiscard]] std::string names_of_procedures() const {
    std::string list;
    for (const Procedure& procedure : procedures_of(options_.space, options_.strategy)) {
      list += (list.empty() ? "" : ",") + hex_literal(procedure.name);
    }
    return list;
  }

  // If there is no space yet, a procedure of such a name is another program's, or was planted.
  Status refuse_strangers_procedures() {
    const Result<Reply> strange =
        say("SELECT routine_name, definer FROM information_schema.routines "
            "WHERE routine_schema = DATABASE() AND definer <> CURRENT_USER() "
            "AND CAST(routine_name AS BINARY) IN (" +
            names_of_procedures() + ") LIMIT 1");
    if (!strange) return strange.error();
    if (strange->rows.empty()) return {};
    return misfit(options_, "the procedure " + in_quotes(strange->text(0)) + " of " +
                                strange->text(1) +
                                " is another program's and was left as it is: drop it, or choose "
                                "another parameter space");
  }

  Status make(const Found& found) {
    for (const NamedSql& table : table_texts(options_.strategy)) {
      if (Result<Reply> made = say(filled_in(table.sql, options_.space)); !made) {
        return made.error();
      }
    }
    const Result<std::vector<RoleOf>> roles = roles_given(connection_, options_, by_);
    if (!roles) return roles.error();
    for (const Procedure& procedure : procedures_of(options_.space, options_.strategy)) {
      if (Result<Reply> gone = say("DROP PROCEDURE IF EXISTS " + procedure.name); !gone) {
        return gone.error();
      }
      if (Result<Reply> made = say(procedure.sql); !made) return made.error();
      // Dropping the old procedure removed the rights on it.
      if (Status given = give_again(connection_, options_, *roles, procedure, by_); !given) {
        return given;
      }
    }
    if (options_.strategy == Strategy::session) {
      if (const Result<Reply> row = say(first_session_row(options_.space)); !row) {
        return row.error();
      }
    } else {
      if (const Result<Reply> gone = say(forget_traces(options_.space)); !gone) return gone.error();
      if (const Result<Reply> home = say(first_home(options_.space)); !home) return home.error();
    }
    const Result<Reply> row = say(found.there ? say_version(options_) : first_row(options_));
    return row ? Status() : row.error();
  }

  Connection& connection_;
  const Options& options_;
  const TimePoint by_;
};

}  // namespace

Status check_schema(Connection& connection, const Options& options, TimePoint by) {
  const Result<Found> found = look(connection, options, by);
  return found ? judge(*found, options) : found.error();
}

Finding examine_schema(Connection& connection, const Options& options, TimePoint by) {
  const Result<Found> found = look(connection, options, by);
  const Status status = found ? judge(*found, options) : Status(found.error());
  if (found && !found->there) {
    return findings::no_space(Finding::Level::unsafe, status.error().message);
  }
  return findings::good_if(status.ok(), Finding::Level::unsafe, "space",
                           options.space + ", schema version " + std::to_string(schema_version),
                           status ? "" : status.error().message);
}

Status init(const Options& options, TimePoint by) {
  server::SocketWatchdog watchdog;
  const Result<std::unique_ptr<Connection>> connection = Connection::connect(options, watchdog, by);
  if (!connection) return connection.error();
  return Init(**connection, options, by).run();
}

std::string init_script(const Options& options) {
  std::string script =
      "-- Lockset, schema version " + std::to_string(schema_version) + ", space " + options.space +
      ". For the mysql or mariadb program, in the database\n-- " + options.database +
      ", as an account that stays: the procedures work with its rights (DEFINER).\n"
      "-- Let that be one with rights on this database alone. To make the procedures anew takes "
      "the\n"
      "-- rights on them away: give those again (lockset init --print --program and --operator).\n"
      "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', autocommit = 1,\n"
      "  completion_type = 0, sql_safe_updates = 0;\n";
  for (const NamedSql& table : table_texts(options.strategy))
    script += filled_in(table.sql, options.space) + ";\n";
  script += "DELIMITER //\n";
  for (const Procedure& procedure : procedures_of(options.space, options.strategy)) {
    script += "DROP PROCEDURE IF EXISTS " + procedure.name + "//\n" + procedure.sql + "//\n";
  }
  script += "DELIMITER ;\n" + first_row(options) + ";\n" +
            (options.strategy == Strategy::session
                 ? first_session_row(options.space)
                 : forget_traces(options.space) + ";\n" + first_home(options.space)) +
            ";\n" + say_version(options) + ";\n";
  return script;
}

}  // namespace lockset::mysql
