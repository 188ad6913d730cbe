#include "backends/mysql/sql.h"

namespace lockset::mysql {
namespace {

// Names are VARBINARY, so that they compare as bytes. The primary key of {space}_locks
// begins with the name: to look at a name reads one short range of the table itself, where
// rows deleted a moment ago are skipped at little cost; in a secondary index each of them
// would have to be looked up in the table first (measured: it halved the throughput).
//
// The lease of a hold stands in the row of its first name, item 0, with the owner and the
// token; the rows of the further names say in lease_at where.
//
// {space}_accounts says whom `lockset init` gave a role: to make a procedure anew takes the rights
// on it away.
//
// {space}_space is made last: a space without it was not finished.
constexpr NamedSql tables[] = {
    {"_names", R"(
CREATE TABLE IF NOT EXISTS {space}_names (
  name VARBINARY(255) NOT NULL PRIMARY KEY,
  low BIGINT NOT NULL COMMENT 'no hold on the name has a lower stamp',
  gen BIGINT UNSIGNED NOT NULL COMMENT 'counts the passages of strategy unique-index'
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1')"},
    {"_locks", R"(
CREATE TABLE IF NOT EXISTS {space}_locks (
  name VARBINARY(255) NOT NULL,
  stamp BIGINT NOT NULL AUTO_INCREMENT,
  item SMALLINT NOT NULL COMMENT 'place in the set; item 0 has the lease',
  mode TINYINT NOT NULL COMMENT '0 read, 1 write',
  lease_at VARBINARY(255) NULL COMMENT 'item > 0: name of item 0',
  items SMALLINT NULL,
  app VARBINARY(255) NULL COMMENT 'application id',
  instance VARBINARY(255) NULL,
  epoch BIGINT NULL,
  label VARBINARY(1024) NULL,
  token BINARY(16) NULL,
  created BIGINT NULL COMMENT 'microseconds since 1970, UTC',
  expires BIGINT NULL COMMENT 'microseconds since 1970, UTC; NULL at item 0: never',
  PRIMARY KEY (name, stamp),
  KEY by_stamp (stamp, item)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1')",
     Audience::everybody},
    {"_lock_permits", R"(
CREATE TABLE IF NOT EXISTS {space}_lock_permits (
  name VARBINARY(255) NOT NULL,
  mode TINYINT NOT NULL COMMENT '0 read, 1 write',
  permits BIGINT NOT NULL,
  PRIMARY KEY (name, mode)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1')",
     Audience::everybody},
    {"_epochs", R"(
CREATE TABLE IF NOT EXISTS {space}_epochs (
  app VARBINARY(255) NOT NULL PRIMARY KEY,
  epoch BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1')",
     Audience::everybody},
    {"_accounts", R"(
CREATE TABLE IF NOT EXISTS {space}_accounts (
  user VARBINARY(255) NOT NULL,
  host VARBINARY(255) NOT NULL,
  operator TINYINT NOT NULL COMMENT '0 program, 1 operator',
  PRIMARY KEY (user, host)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 2')"},
    {"_space", R"(
CREATE TABLE IF NOT EXISTS {space}_space (
  id TINYINT NOT NULL PRIMARY KEY,
  schema_version INT NOT NULL,
  procedures VARBINARY(64) NOT NULL COMMENT 'which text of the procedures is installed',
  config_version BIGINT NOT NULL,
  stamp_base BIGINT NOT NULL,
  max_lease_us BIGINT NOT NULL,
  migration_phase BIGINT NOT NULL
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COMMENT='Lockset schema 1')",
     Audience::everybody},
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

}  // namespace

std::span<const NamedSql> table_texts() { return tables; }

std::vector<Procedure> procedures_of(const std::string& space) {
  std::vector<Procedure> all;
  for (const Strategy strategy : {Strategy::select_for_update, Strategy::unique_index}) {
    const std::string name = space + std::string(acquire_procedure_name(strategy));
    all.push_back({name, filled_in(acquire_procedure_text(strategy), space), Audience::everybody});
    all.push_back({name + "_one", filled_in(acquire_one_procedure_text(strategy), space),
                   Audience::everybody});
  }
  for (const NamedSql& text : hold_procedure_texts()) {
    all.push_back({space + std::string(text.name), filled_in(text.sql, space), text.audience});
  }
  return all;
}

std::string filled_in(std::string_view text, const std::string& space) {
  std::string result(text.substr(text.find_first_not_of('\n')));
  replace_all(result, "{items}",
              "JSON_TABLE(p_items, '$[*]' COLUMNS (ord FOR ORDINALITY, "
              "name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[0]', mode INT PATH '$[1]', "
              "permits BIGINT PATH '$[2]'))");
  replace_all(result, "{holds}",
              "JSON_TABLE(p_holds, '$[*]' COLUMNS (stamp BIGINT PATH '$[0]', "
              "name VARCHAR(255) CHARACTER SET utf8mb4 PATH '$[1]', lease BIGINT PATH '$[2]', "
              "permanent INT PATH '$[3]'))");
  // By the clock: a version does not come again after a backup was restored, so what a client
  // remembers of one can't be taken for another's.
  replace_all(result, "{next_version}", "GREATEST(config_version + 1, {now})");
  // SYSDATE, not NOW: the time at which this is reached, behind the locks.
  replace_all(result, "{now}", "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)");
  // Looked at in each step, for both can be changed while sessions are open, and the server
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
  // 0 and 1; a word where it knows more than those two (MariaDB 12). super_read_only turns it on.
  replace_all(result, "{writable}", "(CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF'))");
  replace_all(result, "{space}", space);
  return result;
}

}  // namespace lockset::mysql
