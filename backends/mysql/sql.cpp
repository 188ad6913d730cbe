#include "backends/mysql/sql.h"

#include <chrono>

#include "backends/line_times.h"
#include "backends/mysql/schema.h"
#include "backends/mysql/statements.h"
#include "lockset/space_config.h"

namespace lockset::mysql {
namespace {

constexpr NamedSql tables[] = {
    {"_names", statements::table_names_sql},
    {"_locks", statements::table_locks_sql, Audience::everybody},
    {"_lock_permits", statements::table_lock_permits_sql, Audience::everybody},
    {"_epochs", statements::table_epochs_sql, Audience::everybody},
    {"_accounts", statements::table_accounts_sql},
    {"_waiters", statements::table_waiters_sql},
    {"_waiter_names", statements::table_waiter_names_sql},
    {"_traces", statements::table_traces_sql},
    {"_home", statements::table_home_sql},
    {"_ended", statements::table_ended_sql},
    {"_space", statements::table_space_sql, Audience::everybody},
};

constexpr NamedSql session_tables[] = {
    {"_lock_permits", statements::table_lock_permits_sql, Audience::everybody},
    {"_epochs", statements::table_epochs_sql, Audience::everybody},
    {"_accounts", statements::table_accounts_sql},
    {"_session_clients", statements::table_session_clients_sql},
    {"_session_requests", statements::table_session_requests_sql},
    {"_session_holds", statements::table_session_holds_sql},
    {"_session", statements::table_session_sql, Audience::everybody},
    {"_space", statements::table_space_sql, Audience::everybody},
};

constexpr NamedSql session_procedures[] = {
    {"_wake_all", statements::session_wake_all_sql},
    {"_session_put", statements::session_put_sql},
    {"_session_retire", statements::session_retire_sql, Audience::everybody},
    {"_session_settle", statements::session_settle_sql, Audience::everybody},
    {"_session_raise", statements::session_raise_sql, Audience::everybody},
    {"_session_register", statements::session_register_sql, Audience::everybody},
    {"_session_park", statements::session_park_sql, Audience::everybody},
    {"_session_list", statements::session_list_sql, Audience::everybody},
    {"_session_ask", statements::session_ask_sql, Audience::everybody},
    {"_session_answers", statements::session_answers_sql, Audience::everybody},
    {"_session_inspect", statements::session_inspect_sql, Audience::everybody},
    {"_session_holder", statements::session_holder_sql, Audience::everybody},
    {"_break", statements::session_break_sql, Audience::operators},
    {"_definer", statements::definer_sql, Audience::everybody},
    {"_change", statements::change_sql, Audience::operators},
};

constexpr NamedSql hold_procedures[] = {
    {"_wake", statements::wake_sql},
    {"_wake_freed", statements::wake_freed_sql},
    {"_wake_all", statements::wake_all_sql},
    {"_leave_line", statements::leave_line_sql},
    {"_admit_others", statements::admit_others_sql},
    {"_end_wait", statements::end_wait_sql, Audience::everybody},
    {"_park", statements::park_sql, Audience::everybody},
    {"_waiting", statements::waiting_sql, Audience::everybody},
    {"_end_rest", statements::end_rest_sql},
    {"_draw", statements::draw_sql},
    {"_lost", statements::lost_sql},
    {"_entomb", statements::entomb_sql},
    {"_quarantine", statements::quarantine_sql, Audience::everybody},
    {"_note_lease", statements::note_lease_sql, Audience::everybody},
    {"_reregister", statements::reregister_sql, Audience::everybody},
    {"_release_noted", statements::release_noted_sql, Audience::everybody},
    {"_release_now", statements::release_now_sql, Audience::everybody},
    {"_release_one", statements::release_one_sql, Audience::everybody},
    {"_release", statements::release_sql, Audience::everybody},
    {"_break", statements::break_sql, Audience::operators},
    {"_definer", statements::definer_sql, Audience::everybody},
    {"_renew", statements::renew_sql, Audience::everybody},
    {"_reclaim", statements::reclaim_sql, Audience::everybody},
    {"_sweep", statements::sweep_sql, Audience::everybody},
    {"_collect", statements::collect_sql, Audience::everybody},
    {"_observe", statements::observe_sql, Audience::everybody},
    {"_sweep_traces", statements::sweep_traces_sql, Audience::everybody},
    {"_change", statements::change_sql, Audience::operators},
};

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string signal(int number, const std::string& text) {
  return "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = " + std::to_string(number) +
         ", MESSAGE_TEXT = '" + text + "';";
}

std::string in_us(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(duration).count());
}

// Parts of {judged}: 0 read, 1 write.
std::string holding(int mode) {
  return "(SELECT COUNT(*) FROM {space}_locks l WHERE l.name = CAST(j.name AS BINARY) "
         "AND l.mode = " +
         std::to_string(mode) + "{but_replaced})";
}
std::string keeping(int mode) {
  return "(SELECT COUNT(*) FROM {space}_waiter_names n "
         "STRAIGHT_JOIN {space}_waiters w ON w.id = n.id "
         "WHERE n.name = CAST(j.name AS BINARY) AND n.mode = " +
         std::to_string(mode) + " AND {kept})";
}

// How many hold each name of the set, and for how many waiters it is kept.
std::string judged() {
  return "(SELECT j.ord AS ord, CAST(j.name AS BINARY) AS name, j.mode AS mode, "
         "j.permits AS permits, " +
         holding(0) + " AS reading, " + holding(1) + " AS writing, " + keeping(0) +
         " AS kept_reads, " + keeping(1) + " AS kept_writes FROM {items} j)";
}

// What the procedures that convert a hold have more than an acquire.
void fill_in_conversion(std::string& text, bool converts) {
  const auto only = [&](std::string_view part) {
    return converts ? "\n" + std::string(part) : std::string();
  };
  replace_all(text, "{p_replaced}", only(", p_replaced BIGINT"));
  replace_all(text, "{declare_replaced}",
              only("  DECLARE v_replaces INT DEFAULT 0;\n  DECLARE v_old_end BIGINT;"));
  // It always has holds to look at.
  replace_all(text, "{converting}", only("  SET v_seen = 0, v_replaces = 0;"));
  replace_all(text, "{or_replaced}", only(" OR f.stamp = p_replaced"));
  replace_all(text, "{but_replaced}", only(" AND l.stamp <> p_replaced"));
  replace_all(text, "{convert_lock}", only(statements::convert_lock_sql));
  replace_all(text, "{convert_gone}", only(statements::convert_gone_sql));
  replace_all(text, "{convert_end}", only(statements::convert_end_sql));
  replace_all(text, "{expires}",
              converts ? "IF(v_old_end IS NULL, NULL, GREATEST(v_old_end, v_now + p_lease))"
                       : "v_now + p_lease");
  replace_all(
      text, "{lease}",
      converts ? "IF(v_old_end IS NULL, NULL, GREATEST(v_old_end - v_now, p_lease))" : "p_lease");
}

// The strategies differ in how a name is locked.
std::string acquire_procedure_text(Strategy strategy, bool converts) {
  const bool key = strategy == Strategy::unique_index;
  std::string text(statements::acquire_sql);
  replace_all(text, "{judge}", "\n" + std::string(statements::judge_sql));
  replace_all(text, "{judged}", judged());
  fill_in_conversion(text, converts);
  // On lines of its own, because it has more than one statement.
  replace_all(text, "{lock}",
              "\n" + std::string(key ? statements::lock_key_sql : statements::lock_row_sql));
  replace_all(text, "{procedure}",
              converts ? convert_procedure_name(strategy) : acquire_procedure_name(strategy));
  return text;
}

std::string acquire_one_procedure_text(Strategy strategy) {
  const bool key = strategy == Strategy::unique_index;
  std::string text(statements::acquire_one_sql);
  replace_all(text, "{lock}", key ? statements::lock_one_key_sql : statements::lock_one_row_sql);
  replace_all(text, "{procedure}", acquire_procedure_name(strategy));
  return text;
}

}  // namespace

std::span<const NamedSql> table_texts(Strategy strategy) {
  if (strategy == Strategy::session) return session_tables;
  return tables;
}

std::string_view procedure_of_nobody(Strategy strategy) {
  return strategy == Strategy::session ? "_session_put" : "_end_rest";
}

std::string_view acquire_procedure_name(Strategy strategy) {
  return strategy == Strategy::unique_index ? "_acquire_key" : "_acquire_rows";
}

std::string_view convert_procedure_name(Strategy strategy) {
  return strategy == Strategy::unique_index ? "_convert_key" : "_convert_rows";
}

std::vector<Procedure> procedures_of(const std::string& space, Strategy kind) {
  std::vector<Procedure> all;
  if (kind == Strategy::session) {
    for (const NamedSql& text : session_procedures) {
      std::string sql(text.sql);
      replace_all(sql, "{note_longest}", "");
      all.push_back({space + std::string(text.name), filled_in(sql, space), text.audience});
    }
    return all;
  }
  for (const Strategy strategy : {Strategy::select_for_update, Strategy::unique_index}) {
    const std::string name = space + std::string(acquire_procedure_name(strategy));
    all.push_back(
        {name, filled_in(acquire_procedure_text(strategy, false), space), Audience::everybody});
    all.push_back({name + "_one", filled_in(acquire_one_procedure_text(strategy), space),
                   Audience::everybody});
    all.push_back({space + std::string(convert_procedure_name(strategy)),
                   filled_in(acquire_procedure_text(strategy, true), space), Audience::everybody});
  }
  for (const NamedSql& text : hold_procedures) {
    std::string sql(text.sql);
    // On lines of their own, because they have more than one statement.
    replace_all(sql, "{note_longest}", "\n" + std::string(statements::note_longest_sql));
    replace_all(sql, "{lock}", "\n" + std::string(statements::lock_row_sql));
    all.push_back({space + std::string(text.name), filled_in(sql, space), text.audience});
  }
  return all;
}

std::string filled_in(std::string_view text, const std::string& space) {
  std::string result(text);
  replace_all(result, "{kept}",
              "((p_waiter = 0 OR n.id < p_waiter) AND w.overtaken >= v_enough "
              "AND w.expires > v_now "
              "AND (w.woken IS NULL OR w.woken > v_now - {comes_within}))");
  replace_all(result, "{life}", in_us(waiter_lifetime));
  replace_all(result, "{comes_within}", in_us(comes_within));
  replace_all(result, "{prod_after}", in_us(prod_after));
  replace_all(result, "{counter}", session_counter);
  replace_all(result, "{window}", std::to_string(stamp_window));
  replace_all(result, "{unlimited}", std::to_string(unlimited_overtakes));
  replace_all(result, "{items}",
              "JSON_TABLE(p_items, '$[*]' COLUMNS (ord FOR ORDINALITY, "
              "name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', mode INT PATH '$[1]', "
              "permits BIGINT PATH '$[2]'))");
  replace_all(result, "{conditions}",
              "JSON_TABLE(p_items, '$[*]' COLUMNS (ord FOR ORDINALITY, "
              "name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', "
              "last_write BIGINT PATH '$[3]'))");
  replace_all(result, "{at_home}",
              "COALESCE((SELECT h.home = {here} FROM {space}_home h WHERE h.id = 1), 0)");
  // UUID_SHORT begins with when the server was started. After each 16,777,216 calls it goes on to
  // the next second, which costs a look.
  replace_all(result, "{here}", "CONCAT(UUID_SHORT() >> 24, '/', {server})");
  replace_all(result, "{identity}",
              "CONCAT({server}, '/', COALESCE((SELECT UNIX_TIMESTAMP(t.create_time) "
              "FROM information_schema.tables t WHERE t.table_schema = DATABASE() "
              "AND t.table_name = '{space}_home'), 0))");
  // MariaDB has no server_uuid. Of a primary and its replicas, no two have the same server_id.
  replace_all(result, "{server}",
              "CONCAT(/*M! @@GLOBAL.server_id */ /*!80000 @@GLOBAL.server_uuid */)");
  replace_all(result, "{schema_version}", std::to_string(schema_version));
  replace_all(result, "{holds}",
              "JSON_TABLE(p_holds, '$[*]' COLUMNS (stamp BIGINT PATH '$[0]', "
              "name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[1]', lease BIGINT PATH '$[2]', "
              "permanent INT PATH '$[3]'))");
  // By the clock, so that a version does not come again after a backup was restored: a client can't
  // confuse a version that it remembers with another one.
  replace_all(result, "{next_version}", "GREATEST(config_version + 1, {now})");
  // SYSDATE, not NOW: the time when this is evaluated, after the locks are taken.
  replace_all(result, "{now}", "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)");
  // Checked in each step, because both can change while sessions are open, and because the server
  // itself lets definers with SUPER and the like write whatever read_only says.
  replace_all(result, "{check_writable}", "IF NOT {writable} THEN {not_writable} END IF;");
  replace_all(result, "{check_keeps}",
              "IF NOT {keeps} THEN\n    IF NOT {writable} THEN {not_writable} END IF;\n    " +
                  signal(not_durable, "innodb_flush_log_at_trx_commit is not 1") + "\n  END IF;");
  replace_all(
      result, "{check_kept}",
      "IF NOT {keeps} THEN " + signal(not_kept, "changed over under the commit") + " END IF;");
  replace_all(result, "{not_writable}", signal(not_writable, "read_only is on"));
  replace_all(result, "{keeps}", "(@@GLOBAL.innodb_flush_log_at_trx_commit = 1 AND {writable})");
  // 0 or 1, or a word if the server knows more values (MariaDB 12). super_read_only turns it on.
  replace_all(result, "{writable}", "(CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF'))");
  replace_all(result, "{space}", space);
  return result;
}

}  // namespace lockset::mysql
