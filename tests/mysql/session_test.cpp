// Every connection's settings are said to the server, whatever its defaults are, and again on
// each connection that replaces one.
#include <set>

#include "backends/connections/socket_watchdog.h"
#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "lockset/url.h"
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

using mysql::Answer;
using mysql::Connection;
using mysql::Failure;
using mysql::Sent;

class Session : public MysqlTest {
 protected:
  // Defaults that would spoil everything.
  void spoil_defaults() {
    admin().rows("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    set_global("time_zone", "+05:30");
    set_global("sql_mode", "ANSI_QUOTES,PIPES_AS_CONCAT");
    set_global("autocommit", "0");
    set_global("character_set_server", "latin1");
    set_global("group_concat_max_len", "16");
    set_global("innodb_lock_wait_timeout", "50");
  }
  void TearDown() override {
    if (HasFatalFailure() || IsSkipped()) return;
    admin().rows("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    MysqlTest::TearDown();
  }
  [[nodiscard]] std::string isolation() const {
    return is_mariadb() ? "@@tx_isolation" : "@@transaction_isolation";
  }
};

// SEM 2: and none of it shows
TEST_P(Session, SaysWhatItReliesOn) {
  spoil_defaults();
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  connections::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  EXPECT_TRUE(connection->has_deadlines());
  Failure failure;
  const Answer row = connection
                         ->run("SELECT " + isolation() +
                                   ", @@time_zone, @@autocommit, @@character_set_client, "
                                   "@@character_set_connection, @@character_set_results, "
                                   "@@sql_mode, @@innodb_lock_wait_timeout < 50, "
                                   "@@group_concat_max_len > 60000",
                               Sent::reading, soon(), failure)
                         .value();
  EXPECT_EQ(row.text(0), "READ-COMMITTED");
  EXPECT_EQ(row.text(1), "+00:00");
  EXPECT_EQ(row.text(2), "1");
  EXPECT_EQ(row.text(3), "utf8mb4");
  EXPECT_EQ(row.text(4), "utf8mb4");
  EXPECT_EQ(row.text(5), "utf8mb4");
  EXPECT_TRUE(says(row.text(6), "STRICT_ALL_TABLES")) << row.text(6);
  EXPECT_FALSE(says(row.text(6), "ANSI_QUOTES")) << row.text(6);
  EXPECT_EQ(row.text(7), "1");
  EXPECT_EQ(row.text(8), "1");
}

TEST_P(Session, TakesOneStatementAtATime) {
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  connections::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  Failure failure;
  EXPECT_FALSE(
      connection->run("SELECT 1; DELETE FROM " + table("_space"), Sent::reading, soon(), failure));
  EXPECT_EQ(failure.code, 1064);
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_space")), 1);
}

// A client library that reconnects in silence would lose the settings.
TEST_P(Session, DoesNotReconnectInSilence) {
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  connections::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  Failure failure;
  const std::string id =
      connection->run("SELECT CONNECTION_ID()", Sent::reading, soon(), failure)->text(0);
  admin().rows("KILL CONNECTION " + id);
  EXPECT_TRUE(eventually([&] { return connection->hung_up(); }));
  EXPECT_FALSE(connection->run("SELECT 1", Sent::reading, soon(), failure));
  EXPECT_TRUE(failure.broken);
  EXPECT_FALSE(connection->run("SELECT 1", Sent::reading, soon(), failure));
}

// The general log shows what every new connection says before it does anything.
TEST_P(Session, IsSetUpAgainOnEachNewConnection) {
  spoil_defaults();
  const Address address = runtime_user();
  set_global("log_output", "TABLE");
  admin().rows("TRUNCATE TABLE mysql.general_log");
  Client mine(open_backend(url(address), soon()).value());
  set_global("general_log", "1");
  for (int round = 0; round < 3; ++round) {
    kill_sessions_of(address.user);
    const auto grant = mine.ask({write("a")});
    const bool granted = grant && std::holds_alternative<Grant>(*grant);
    // The sessions died while idle or, at worst, under the call.
    EXPECT_TRUE(granted || (!grant && (grant.error().code == Errc::indeterminate ||
                                       grant.error().code == Errc::unavailable)))
        << test::describe(grant);
    admin().rows("DELETE FROM " + table("_locks"));
  }
  admin().rows("SET GLOBAL general_log = 0");
  const std::string log =
      "(SELECT thread_id, CONVERT(argument USING utf8mb4) AS said FROM "
      "mysql.general_log WHERE user_host LIKE '" +
      address.user + "%') g";
  std::set<std::string> working;
  for (const auto& row :
       admin().rows("SELECT DISTINCT thread_id FROM " + log + " WHERE said LIKE 'CALL %'")) {
    working.insert(row.at(0).value());
  }
  EXPECT_GE(working.size(), 2U) << "nothing was replaced";
  for (const std::string& id : working) {
    for (const char* const part : {"ISOLATION LEVEL READ COMMITTED", "time_zone = ''+00:00''",
                                   "autocommit = 1", "sql_mode = ''STRICT_ALL_TABLES"}) {
      EXPECT_GE(admin().number("SELECT COUNT(*) FROM " + log + " WHERE thread_id = " + id +
                               " AND said LIKE '%" + part + "%'"),
                1)
          << part;
    }
  }
}

LOCKSET_MYSQL_SERVERS(Session);

}  // namespace
}  // namespace lockset::mysql_tests
