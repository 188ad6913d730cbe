#include "backends/postgresql/script.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

#include "backends/line_times.h"
#include "backends/postgresql/statements.h"
#include "backends/text_hash.h"
#include "lockset/registry.h"

namespace lockset::postgresql {
namespace {

// Advisory locks are shared by the whole database, so each space and use has a class of its own. If
// someone else happens to use the same class, that costs waiting and no more.
std::string lock_class(const std::string& space, std::string_view use) {
  const std::uint64_t hash = text_hash("lockset/" + space + "/" + std::string(use));
  return std::to_string(static_cast<std::int32_t>(hash ^ (hash >> 32)));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Alternatives of a regular expression, without the version. They include those of every version.
constexpr std::string_view functions_of_programs =
    "acquire|convert|know|resolve|renew|reregister|quarantine|release|end_wait|inspect|load_config|"
    "reclaim|sweep|observe|"
    "sweep_traces|"
    "session_acquire|session_register|session_publish|session_ask|session_answers";
constexpr std::string_view functions_of_operators =
    "break|change_config|change_config_at|session_force";

// For an answer that relies on an earlier commit. The earlier commit's wait for a synchronous
// standby may have been cut short. A record in the log makes this commit wait too, and the standby
// has the log in order. (A transaction's number alone makes no commit wait: seen with 15.18.)
constexpr std::string_view be_sure = "PERFORM pg_logical_emit_message(true, 'lockset', '');";

// How a function's statements are planned, whatever the session says: by index, and once, so that
// the plans of the first minutes, made for small tables, serve large ones as well. They are never
// compiled: the cost of a plan that may not read a table in order says nothing about its time.
constexpr std::string_view plans =
    "SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = off";
// The settings of functions that read all holds.
constexpr std::string_view plans_of_all =
    "SET jit = off SET plan_cache_mode = force_generic_plan SET enable_seqscan = on";

// What `home` should be (quarantine.sql): another number for another table, another start of a
// server (in microseconds: 51 bits), and another timeline, which stands in the name of a segment of
// the log. Measured with the comparison: 0.9 to 1.1 microseconds.
constexpr std::string_view here =
    "((date_part('epoch', pg_postmaster_start_time()) * 1000000)::bigint\n"
    "      # '\"@space@\".meta'::regclass::oid::bigint\n"
    "      # ((('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint & "
    "4095)"
    " << 51))";
constexpr std::string_view moved =
    "pg_sequence_last_value('\"@space@\".home'::regclass) IS DISTINCT FROM\n      @here@";
// The cluster, its timeline and the table. It reads a file.
constexpr std::string_view identity =
    "(SELECT c.system_identifier FROM pg_control_system() c)\n"
    "    || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)\n"
    "    || '/' || '\"@space@\".meta'::regclass::oid::text";

std::string interval(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()) +
         " milliseconds";
}

// A script separates its statements by empty lines.
std::string paragraph(std::string_view statement) { return "\n" + std::string(statement) + "\n"; }

// The function that ends a hold. There are two, so that each can be granted by itself: one ends the
// holds of the caller's application, the other any hold. NULL is no application.
std::string release_for(Role role, Strategy strategy) {
  const bool any = role == Role::operators;
  std::string text = paragraph(statements::release_sql);
  replace_all(text, "@free@",
              strategy == Strategy::serializable ? std::string(statements::free_names_sql)
                                                 : "-- (nothing)");
  replace_all(
      text, "@release_says@",
      any ? "An operator ends a hold, whosever it is." : "A hold's own application ends it.");
  // `_mine`: the caller was granted the hold. `_noted`: it is noted all the same that it ended. A
  // call of an older program has neither.
  replace_all(text, "@release@",
              any ? "break_v@version@(_stamp bigint)"
                  : "release_v@version@(_stamp bigint, _app text, _mine boolean DEFAULT false, "
                    "_noted boolean DEFAULT true)");
  replace_all(text, "@forgotten@",
              any ? "-- (nothing)" : std::string(statements::release_forgotten_sql));
  const std::string entomb = "PERFORM \"@space@\".entomb_v@version@(_stamp, _expires);";
  replace_all(text, "@entomb@",
              any ? entomb : "IF _noted OR NOT _mine THEN\n    " + entomb + "\n  END IF;");
  replace_all(text, "@whose@", any ? "" : " AND h.app = _app");
  return text;
}

std::string filled(std::string text, const std::string& space, Strategy strategy) {
  const bool serializable = strategy == Strategy::serializable;
  const auto only_serializable = [&](std::string_view part) {
    return serializable ? std::string(part) : std::string("-- (nothing)");
  };
  const std::string_view lock_unseen = serializable ? statements::lock_unseen_serializable_sql
                                                    : statements::lock_unseen_advisory_sql;
  const std::string_view lock_held =
      serializable ? statements::lock_held_serializable_sql : statements::lock_names_advisory_sql;
  const std::string_view lock_names =
      serializable ? statements::lock_names_serializable_sql : statements::lock_names_advisory_sql;
  const std::vector<std::pair<std::string, std::string>> values{
      {"@look@", paragraph(statements::look_sql)},
      {"@tables@",
       "meta|ended|lock_permits|epochs|locks|waiters|waiter_names|names|traces|session_clients|"
       "session_"
       "holds|"
       "session_ended"},
      {"@sequences@",
       "stamps|config_version|home|last_wait|never_observed|session_requests|session_numbers"},
      {"@functions@", std::string(functions_of_programs) + "|" +
                          std::string(functions_of_operators) +
                          "|raise_stamp|note_lease|entomb|record|trace|changed|settle|wake|wake_"
                          "all|leave_line|sweep_line|"
                          "config_rows|next_version|session_undo"},
      {"@programs@", std::string(functions_of_programs)},
      {"@operators@", std::string(functions_of_operators)},
      {"@sure@", std::string(be_sure)},
      {"@plans@", std::string(plans)},
      {"@plans_of_all@", std::string(plans_of_all)},
      {"@mark@", only_serializable(statements::mark_names_sql)},
      {"@unmark@", only_serializable(statements::unmark_names_sql)},
      {"@lock_unseen@", std::string(lock_unseen)},
      {"@lock_names@", std::string(lock_names)},
      {"@lock_held@", std::string(lock_held)},
      {"@moved@", std::string(moved)},
      {"@here@", std::string(here)},
      {"@identity@", std::string(identity)},
      {"@sweep_names@", only_serializable(statements::sweep_names_sql)},
      {"@space@", space},
      {"@strategy@", std::string(to_string(strategy))},
      {"@version@", std::to_string(schema_version)},
      {"@class@", lock_class(space, "space")},
      {"@names@", lock_class(space, "names")},
      {"@clients@", lock_class(space, "clients")},
      {"@channel@", session_channel(space)},
      {"@slack@", std::to_string(stamp_slack_us)},
      {"@most_names@", std::to_string(most_name_locks)},
      {"@life@", interval(waiter_lifetime)},
      // A little more than that: last_wait may go back by a moment.
      {"@life_us@", "20000000"},
      {"@fresh@", interval(waiter_lifetime - prod_after)},
      {"@comes_within@", interval(comes_within)},
      {"@max_overtakes@", std::to_string(default_max_overtakes)},
  };
  for (const auto& [name, value] : values) replace_all(text, name, value);
  return text;
}

// There is no function of the other strategies: a program that knows only those can't call one.
std::string session_body(const std::string& space) {
  using namespace statements;
  std::string text;
  for (const std::string_view part :
       {guard_sql, tables_sql, session_tables_sql, about_sql, raise_stamp_sql, session_acquire_sql,
        session_clients_sql, wake_all_sql, config_rows_sql, load_config_sql, next_version_sql,
        change_config_sql, change_config_at_sql, seal_sql}) {
    text += paragraph(part);
  }
  return filled(std::move(text), space, Strategy::session);
}

std::string body(const std::string& space, Strategy strategy) {
  using namespace statements;
  if (strategy == Strategy::session) return session_body(space);
  std::vector<std::string_view> parts{guard_sql,  tables_sql,      traces_sql,
                                      about_sql,  raise_stamp_sql, quarantine_sql,
                                      record_sql, trace_sql,       settle_sql};
  if (strategy == Strategy::serializable) {
    parts.insert(parts.end(), {acquire_serializable_sql, know_sql});
  } else {
    parts.push_back(acquire_advisory_sql);
  }
  parts.push_back(convert_sql);
  std::string text;
  for (const std::string_view part : parts) text += paragraph(part);
  text += release_for(Role::programs, strategy) + release_for(Role::operators, strategy);
  for (const std::string_view part :
       {renew_sql, reregister_sql, resolve_sql, inspect_sql, observe_sql, sweep_traces_sql,
        sweep_sql, wake_sql, wake_all_sql, leave_line_sql, end_wait_sql, sweep_line_sql,
        config_rows_sql, load_config_sql, next_version_sql, change_config_sql, change_config_at_sql,
        reclaim_sql, seal_sql}) {
    text += paragraph(part);
  }
  return filled(std::move(text), space, strategy);
}

}  // namespace

std::string_view to_string(Strategy strategy) noexcept {
  if (strategy == Strategy::session) return "session";
  return strategy == Strategy::advisory ? "advisory" : "serializable";
}

std::string_view to_string(FailoverMeans failover) noexcept {
  return failover == FailoverMeans::synchronous ? "synchronous" : "quarantine";
}

std::optional<Strategy> strategy_from(std::string_view name) noexcept {
  for (const Strategy one : {Strategy::advisory, Strategy::serializable, Strategy::session}) {
    if (name == to_string(one)) return one;
  }
  return {};
}

std::int64_t session_key(std::string_view space, std::string_view name) {
  std::string text = "lockset/";
  text.append(space).append("/session/").append(name);
  return static_cast<std::int64_t>(text_hash(text));
}

std::string session_channel(std::string_view space) {
  return "lockset_session_" + std::string(space);
}

std::string script_digest(const std::string& space, Strategy strategy) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(text_hash(body(space, strategy))));
  return digits;
}

std::string grant_script(const std::string& space, Role role, const std::string& account) {
  std::string identifier;
  std::string literal;
  for (const char c : account) {
    identifier += c == '"' ? std::string("\"\"") : std::string(1, c);
    literal += c == '\'' || c == '\\' ? std::string(2, c) : std::string(1, c);
  }
  std::string text = paragraph(statements::rights_sql);
  replace_all(text, "@give@", role == Role::operators ? "GRANT" : "REVOKE");
  replace_all(text, "@to@", role == Role::operators ? "TO" : "FROM");
  replace_all(text, "@operator@", role == Role::operators ? "true" : "false");
  text = filled(std::move(text), space, Strategy::advisory);
  // Last, because an account may have any name.
  const std::string account_there = "@account@", literal_there = "@literal@";
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, account_there.size(), account_there) == 0) {
      result += identifier;
      at += account_there.size();
    } else if (text.compare(at, literal_there.size(), literal_there) == 0) {
      result += literal;
      at += literal_there.size();
    } else {
      result += text[at++];
    }
  }
  return result;
}

std::string check_script(const std::string& space) {
  // The text is the same with either strategy.
  return filled(paragraph(statements::guard_sql) + paragraph(statements::seal_sql), space,
                Strategy::advisory);
}

std::string install_script(const std::string& space, Strategy strategy) {
  // An older space has this version from here on; a newer one has been refused above.
  return body(space, strategy) + "\nUPDATE \"" + space +
         "\".meta SET schema_version = " + std::to_string(schema_version) + ", script = '" +
         script_digest(space, strategy) + "';\n";
}

std::string failover_script(const std::string& space, FailoverMeans failover) {
  return "\nUPDATE \"" + space + "\".meta SET synchronous_failover = " +
         (failover == FailoverMeans::synchronous ? "true" : "false") + ";\n";
}

}  // namespace lockset::postgresql
