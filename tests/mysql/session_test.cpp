// Every connection sends its settings to the server, whatever the server's defaults are; so does
// each connection that replaces one.
#include <set>

#include "backends/mysql/address.h"
#include "backends/mysql/connection.h"
#include "backends/mysql/doctor.h"
#include "backends/server/socket_watchdog.h"
#include "lockset/url.h"
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

using mysql::CallFailure;
using mysql::Connection;
using mysql::Reply;

class Session : public MysqlTest {
 protected:
  // Defaults that would break everything.
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

// SEM 2: and none of that has an effect
TEST_P(Session, SaysWhatItReliesOn) {
  spoil_defaults();
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  server::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  EXPECT_TRUE(connection->has_deadlines());
  CallFailure failure;
  const Reply row = connection
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
  server::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  CallFailure failure;
  EXPECT_FALSE(
      connection->run("SELECT 1; DELETE FROM " + table("_space"), Sent::reading, soon(), failure));
  EXPECT_EQ(failure.code, 1064);
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_space")), 1);
}

// A client library that reconnects silently would lose the settings.
TEST_P(Session, DoesNotReconnectInSilence) {
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  server::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  CallFailure failure;
  const std::string id =
      connection->run("SELECT CONNECTION_ID()", Sent::reading, soon(), failure)->text(0);
  admin().rows("KILL CONNECTION " + id);
  EXPECT_TRUE(eventually([&] { return connection->hung_up(); }));
  EXPECT_FALSE(connection->run("SELECT 1", Sent::reading, soon(), failure));
  EXPECT_TRUE(failure.broken);
  EXPECT_FALSE(connection->run("SELECT 1", Sent::reading, soon(), failure));
}

// The general log shows what every new connection sends before it does anything.
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

// What a program does with a space, made, used and inspected from its own point of view.
void use(const std::string& address) {
  init_space(address, soon()).value();
  Client mine(open_backend(address, soon()).value());
  for (const char* const name : {"p", "q", "r"}) mine.set_permits(name, Mode::read, 2);
  mine.reload();
  ASSERT_EQ(mine.config().permits.size(), 3U);

  const Stamp one = mine.take({write("a")}).stamp;
  const Stamp set = mine.take({write("b"), read("p"), read("q")}).stamp;
  const Stamp other = mine.take({read("p")}).stamp;
  EXPECT_EQ(mine.meet_busy({write("c"), read("p")}, {.will_wait = true}).name, "p");
  EXPECT_EQ(mine.holds().size(), 3U);
  for (const Stamp stamp : {one, set, other}) EXPECT_TRUE(mine.renew(stamp, 2min)) << stamp.value;
  // Also for several holds in one call.
  const std::vector<RenewRequest> both{{one, 3min}, {set, 3min}};
  const auto renewed = mine.backend().renew(mine.owner(), both, soon());
  ASSERT_TRUE(renewed) << renewed.error().message;
  EXPECT_TRUE(renewed->renewals.at(0) && renewed->renewals.at(1));
  const Token token = Token::random();
  const Grant found = mine.take({write("d"), write("e")}, {.token = token});
  const std::optional<Grant> resolved = mine.resolve(token);
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->stamp, found.stamp);
  EXPECT_TRUE(mine.make_permanent(found.stamp));
  EXPECT_TRUE(mine.release(set));
  EXPECT_TRUE(mine.break_hold(other));
  EXPECT_TRUE(mine.release(one));

  // Expired holds with more than one name: the next acquire meets them, and the sweep removes them.
  mine.take({write("f"), write("g")}, {.lease = 1ms});
  EXPECT_TRUE(eventually([&] { return mine.try_take({write("g")}).has_value(); }));
  mine.take({write("h"), write("i"), write("j")}, {.lease = 1ms});
  EXPECT_TRUE(eventually([&] { return mine.backend().sweep(soon()).value() == 1; }));

  const Stamp epoch = mine.take({write("@app:app")}).stamp;
  const auto ended = mine.backend().reclaim("app", epoch.value, soon());
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ(*ended, 2U);
}

// Servers' defaults, one by one, that would end calls, shorten answers, or change the meaning of a
// statement. Defaults that a server does not know are left out.
TEST_P(Session, WorksWhateverTheServersDefaultsAre) {
  const std::vector<std::pair<std::string, std::string>> defaults{
      {"sql_safe_updates", "1"},
      {"completion_type", "2"},
      {"completion_type", "1"},
      {"sql_select_limit", "1"},
      {"max_statement_time", "0.000001"},
      {"max_execution_time", "1"},
      {"max_join_size", "1"},
      {"sql_auto_is_null", "1"},
      {"unique_checks", "0"},
      {"foreign_key_checks", "0"},
      {"max_error_count", "0"},
      {"max_sp_recursion_depth", "0"},
      {"innodb_snapshot_isolation", "1"},
      {"sql_big_selects", "0"},
      {"low_priority_updates", "1"},
      {"autocommit", "0"},
      {"sql_mode", "ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH"},
      {"collation_connection", "utf8mb3_general_ci"},
      {"div_precision_increment", "0"},
      {"max_sort_length", "64"},
      {"group_concat_max_len", "4"},
      {"lock_wait_timeout", "1"},
      {"innodb_lock_wait_timeout", "1"},
      {"character_set_client", "latin1"},
      {"character_set_results", "latin1"},
  };
  int known = 0;
  for (const auto& [name, value] : defaults) {
    SCOPED_TRACE(testing::Message() << name << " = " << value);
    if (admin().rows("SHOW GLOBAL VARIABLES LIKE '" + name + "'").empty()) continue;
    const std::string before = admin().value("SELECT @@GLOBAL." + name);
    set_global(name, value);
    ++known;
    try {
      use(server().admin_url() + "?space=s" + Token::random().hex().substr(0, 20) +
          "&strategy=" + strategy());
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    set_global(name, before);
  }
  EXPECT_GE(known, 10);
}

// A session that shortens the server's answers makes no false finding about the server.
TEST_P(Session, WhatCouldNotBeReadIsSaidToBeThat) {
  const mysql::Options options = mysql::parse_address(Url::parse(url()).value()).value();
  server::SocketWatchdog watchdog;
  const auto connection = Connection::connect(options, watchdog, soon()).value();
  CallFailure failure;
  ASSERT_TRUE(connection->run("SET SESSION sql_select_limit = 1", Sent::reading, soon(), failure));
  const Status status = mysql::refuse_unsafe(*connection, options, soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(status.error().message, "could not be read")) << status.error().message;
  for (const Finding& finding : mysql::examine_server(*connection, options, soon()).value()) {
    if (finding.level == Finding::Level::good || finding.subject == "encryption") continue;
    EXPECT_TRUE(says(finding.text, "could not be read")) << finding.subject << ": " << finding.text;
  }
}

LOCKSET_MYSQL_SERVERS(Session);

}  // namespace
}  // namespace lockset::mysql_tests
