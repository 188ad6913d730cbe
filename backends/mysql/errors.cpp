#include "backends/mysql/errors.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "backends/mysql/sql.h"

namespace lockset::mysql {
namespace {

// Names as in the servers' errmsg files.
enum Code {
  con_count = 1040,
  bad_handshake = 1043,
  db_access_denied = 1044,
  access_denied = 1045,
  no_db = 1046,
  server_shutdown = 1053,
  bad_db = 1049,
  disk_full = 1021,
  out_of_memory = 1037,
  out_of_resources = 1041,
  record_file_full = 1114,
  too_many_locks = 1206,
  host_blocked = 1129,
  host_not_privileged = 1130,
  table_access_denied = 1142,
  column_access_denied = 1143,
  no_such_table = 1146,
  new_aborting = 1152,
  net_packets_out_of_order = 1156,
  net_read_error = 1158,
  net_read_interrupted = 1159,
  net_error_on_write = 1160,
  net_write_interrupted = 1161,
  too_many_user_connections = 1203,
  lock_wait_timeout = 1205,
  lock_deadlock = 1213,
  dup_entry = 1062,
  checkread = 1020,
  user_limit_reached = 1226,
  specific_access_denied = 1227,
  option_prevents = 1290,
  no_such_routine = 1305,
  wrong_argument_count = 1318,
  query_interrupted = 1317,
  procaccess_denied = 1370,
  no_such_definer = 1449,
  binlog_impossible = 1665,
  binlog_unsafe_isolation = 1598,
  read_only_transaction = 1792,
  read_only_mode = 1836,
  must_change_password = 1820,
  account_locked = 3118,
  account_locked_mariadb = 4151,
  connection_killed = 1927,
  statement_timeout = 1969,
  statement_timeout_mysql = 3024,
  offline_mode = 3032,
  nowait = 3572,
  client_interaction_timeout = 4031,
  cr_connection = 2002,
  cr_conn_host = 2003,
  cr_unknown_host = 2005,
  cr_server_gone = 2006,
  cr_out_of_memory = 2008,
  cr_server_handshake = 2012,
  cr_server_lost = 2013,
  cr_commands_out_of_sync = 2014,
  cr_ssl = 2026,
  cr_malformed_packet = 2027,
  cr_server_lost_extended = 2055,
  cr_auth_plugin_cannot_load = 2059,
  cr_auth_plugin_err = 2061,
};

Error make(Errc code, std::string text, const std::string& said) {
  return Error{code, std::move(text) + said};
}

// A connection that breaks has the same number as one that TLS refuses. A server that ends a
// connection in the middle of the handshake says so in plain text, which a TLS library takes for
// another version, another packet, or a record that somebody has changed.
bool broke_under_tls(std::string_view said) {
  for (const std::string_view word :
       {"eof", "reset", "roken pipe", "timed out", "closed", "shutdown", "onnection", "(0)",
        "no error", "wrong version number", "unexpected TLS packet", "bad record mac"}) {
    if (said.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// The account in "execute command denied to user 'app'@'%' for routine ...", as lockset init takes
// it.
std::string account_in(std::string_view said) {
  const std::size_t from = said.find("to user ");
  const std::size_t end = said.find(" for routine");
  if (from == std::string_view::npos || end == std::string_view::npos || end < from) return "";
  std::string_view account = said.substr(from + 8, end - from - 8);
  if (!account.ends_with("'@'%'")) return '"' + std::string(account) + '"';
  account.remove_suffix(5);
  account.remove_prefix(account.starts_with('\'') ? 1 : 0);
  return std::string(account);
}

// A procedure may not be called: a program tried what only operators may do, or the user has no
// role. The end of the message tells which: "... for routine 'db.locks_break'".
Error missing_role(const std::string& where, const std::string& said) {
  const std::string account = account_in(said);
  const std::string user = account.empty() ? "this user" : "user '" + account + "'";
  const std::string name = account.empty() ? "NAME" : account;
  Error error = takes_an_operator(where, user, name);
  const std::vector<Procedure> all = procedures_of("", Strategy::select_for_update);
  const bool steers = std::any_of(all.begin(), all.end(), [&](const Procedure& each) {
    return each.audience == Audience::operators && said.find(each.name + "'") != said.npos;
  });
  if (!steers) {
    error.message = where + ": " + user +
                    " lacks a program's rights here; grant them: lockset init --program " + name;
  }
  error.message += said;
  return error;
}

// The errors that tell a person what to do; in all of them the call was certainly not applied.
Error refusal(int code, const std::string& where, const std::string& said, Sent sent) {
  const auto misconfigured = [&](const std::string& text) {
    return make(Errc::misconfigured, where + ": " + text, said);
  };
  const auto unavailable = [&](const std::string& text) {
    return make(Errc::unavailable, where + ": " + text, said);
  };
  switch (code) {
    case access_denied:
      return misconfigured(
          "the server refuses this user or password: check both, and from which "
          "hosts the user may come");
    case host_not_privileged:
    case host_blocked:
      return misconfigured(
          "the server lets nobody in from this host: grant the user access from "
          "here, or FLUSH HOSTS");
    case account_locked:
    case account_locked_mariadb:
    case must_change_password:
      return misconfigured(
          "the account is locked or its password has run out: ask who runs the "
          "server");
    case bad_db:
    case no_db:
      return misconfigured("there is no such database: create it, then run lockset init");
    case db_access_denied:
    case table_access_denied:
    case column_access_denied:
    case specific_access_denied:
      return misconfigured(
          "this user lacks a right: lockset init --program USER gives a program's, --operator USER "
          "an operator's (lockset init itself needs more: see docs/backends/mysql.md)");
    case procaccess_denied:
      return missing_role(where, said);
    case no_such_table:
    case no_such_routine:
    case wrong_argument_count:
      return misconfigured(
          "there is no lock space here, or one of another version: run lockset "
          "init, and check the parameter space");
    case no_such_definer:
      return misconfigured(
          "the account that made the procedures is gone: run lockset init as one "
          "that stays");
    case option_prevents:
    case read_only_mode:
    case read_only_transaction:
    case not_writable:
      return misconfigured(
          "the server is read-only, a replica perhaps, so nothing was applied: name the one that "
          "is written to");
    case not_durable:
      return misconfigured(
          "a crash of the server would lose what it grants now, so nothing was applied: set "
          "innodb_flush_log_at_trx_commit to 1");
    case binlog_impossible:
    case binlog_unsafe_isolation:
      return misconfigured(
          "binlog_format=STATEMENT can't log what READ COMMITTED transactions do: "
          "set it to ROW or MIXED");
    case con_count:
    case too_many_user_connections:
    case user_limit_reached:
      return unavailable(
          "the server takes no further connection now: raise max_connections or the "
          "user's limit, or lower the parameter pool");
    case disk_full:
    case record_file_full:
      return unavailable("no space is left on the server's disk; nothing was applied: free some");
    case out_of_memory:
    case out_of_resources:
    case too_many_locks:
      return unavailable("the server has run out of memory; nothing was applied");
    case offline_mode:
    case server_shutdown:
      return unavailable("the server is shutting down");
    case statement_timeout:
    case statement_timeout_mysql:
      return unavailable(
          "the server ended the statement by a limit of its own (max_statement_time, "
          "max_execution_time): lift it for this user");
    case cr_unknown_host:
      return unavailable("the host name is not known: check the address");
    case cr_connection:
    case cr_conn_host:
      // Before TLS has begun, only the text has the server's number.
      if (said.find("1040 ") != std::string::npos) {
        return refusal(con_count, where, said, sent);
      }
      return unavailable("no server can be reached: does it run, and is the address right?");
    case cr_ssl:
      // Once connected, nothing else is refused.
      if (sent != Sent::nothing || broke_under_tls(said)) return Error{};
      return misconfigured(
          "no TLS connection that this ssl_mode allows: check ssl_ca, the "
          "server's certificate and the host name");
    case cr_auth_plugin_cannot_load:
    case cr_auth_plugin_err:
      // The client library also says this when the connection breaks at this point.
      if (said.find("read RSA public key") != std::string::npos) {
        return unavailable(
            "the server's key for the password did not arrive: the connection broke, or, if it "
            "stays so, the server has none and needs TLS (ssl_mode=required)");
      }
      return misconfigured(
          "the user's authentication plugin does not work from here: "
          "caching_sha2_password may need TLS (ssl_mode=required)");
    default:
      return Error{};
  }
}

// The server itself refused the call, before it did anything or instead of it.
bool surely_refused(int code) {
  switch (code) {
    // These may come after the commit, in place of its answer.
    case server_shutdown:
    case offline_mode:
    case not_kept:
    case statement_timeout:
    case statement_timeout_mysql:
    case client_interaction_timeout:
      return false;
    default:
      return code < 2000 || code >= 3000;
  }
}

}  // namespace

bool worth_repeating(int code) noexcept {
  switch (code) {
    case lock_deadlock:
    case lock_wait_timeout:
    case dup_entry:
    case checkread:
    case nowait:
      return true;
    default:
      return false;
  }
}

bool takes_no_writes(int code) noexcept {
  return code == option_prevents || code == read_only_mode || code == read_only_transaction ||
         code == not_writable;
}

bool breaks_connection(int code) noexcept {
  // If a name leads to the server that is written to, the next connection may reach it.
  if (takes_no_writes(code)) return true;
  switch (code) {
    case 0:
    case server_shutdown:
    case new_aborting:
    case net_packets_out_of_order:
    case net_read_error:
    case net_read_interrupted:
    case net_error_on_write:
    case net_write_interrupted:
    case connection_killed:
    case query_interrupted:
    // The call's transaction may be open still: the next call would commit its changes.
    case statement_timeout:
    case statement_timeout_mysql:
    case offline_mode:
    case not_kept:
    case client_interaction_timeout:
      return true;
    default:
      return code >= 2000 && code < 3000;
  }
}

bool ends_session(int code) noexcept {
  switch (code) {
    case query_interrupted:
    case statement_timeout:
    case statement_timeout_mysql:
    case not_kept:
      return false;
    default:
      return breaks_connection(code) && !takes_no_writes(code);
  }
}

Error not_encrypted(const std::string& where) {
  return Error{Errc::misconfigured,
               where +
                   ": the connection is not encrypted, though ssl_mode wants it: does the "
                   "server offer TLS?"};
}

Error error_from(int code, std::string_view said, const std::string& where, Sent sent) {
  const std::string quote =
      " (" + one_line(said) + (code != 0 ? ", error " + std::to_string(code) : "") + ")";
  if (worth_repeating(code)) {
    return make(Errc::unavailable,
                where + ": the rows stayed locked by other transactions; nothing was applied",
                quote);
  }
  const bool can_know = sent != Sent::change || surely_refused(code);
  if (Error error = refusal(code, where, quote, sent); can_know && !error.message.empty())
    return error;
  if (code == not_kept) {
    return make(Errc::indeterminate,
                where +
                    ": the server became read-only, or less durable, at that very moment; the "
                    "change was made, and may be lost where others go on",
                quote);
  }
  if (sent == Sent::nothing || breaks_connection(code)) {
    return no_answer(sent, where, quote);
  }
  return unknown_answer(sent, where, quote);
}

}  // namespace lockset::mysql
