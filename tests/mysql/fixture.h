// Common parts of the tests for MySQL and MariaDB only: one server of each kind, spaces in it,
// users, and sessions that bypass the backend.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockset/lockset.h"
#include "tests/mysql/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::mysql_tests {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::RawMysql;
using test::soon;
using test::Wanted;

struct ServerKind {
  std::string kind;      // for test::PrivateServer
  std::string strategy;  // in the address
};

// The names of its tests end in "mariadb_unique_index" and the like.
std::string name_of(const testing::TestParamInfo<ServerKind>& info);

// The server's address with other parts. Empty parts are left out.
struct Address {
  std::string user;
  std::string password;
  std::string host = "127.0.0.1";
  std::string database = "lockset";
  std::string parameters;
};

bool says(const std::string& message, const std::string& part);

class MysqlTest : public testing::TestWithParam<ServerKind> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] const std::string& strategy() const { return GetParam().strategy; }
  [[nodiscard]] bool is_mariadb() const { return GetParam().kind == "mariadb"; }
  // Shared by all tests of the kind, started at its first use.
  [[nodiscard]] test::PrivateServer& server() const;
  // The administrator's session.
  [[nodiscard]] RawMysql& admin() { return *admin_; }
  // Another session of the administrator.
  [[nodiscard]] std::unique_ptr<RawMysql> session() const;

  // The space of this test, made by SetUp.
  [[nodiscard]] const std::string& space() const { return space_; }
  // From "_locks" makes "t0123_locks".
  [[nodiscard]] std::string table(const std::string& rest) const { return space_ + rest; }
  // As the administrator.
  [[nodiscard]] std::string url(const std::string& more = {}) const;
  [[nodiscard]] std::string url(const Address& address) const;
  [[nodiscard]] std::shared_ptr<Backend> open(const std::string& more = {}) const;
  [[nodiscard]] Client client(const std::string& app = "app") const;

  // Sets it until the end of the test.
  void set_global(const std::string& variable, const std::string& value);
  // Makes a user with this role in the space; `options` as in "WITH ...".
  Address runtime_user(const std::string& password = "open-sesame", const std::string& options = {},
                       Role role = Role::programs);

  // The server's numbers of this user's connections, if nobody else waits in this test's space.
  std::vector<std::string> sessions_of(const std::string& user);
  // Ends these sessions, and returns when they are gone.
  void kill_sessions_of(const std::string& user);

  // The name of the strategy's procedure for sets, without the space: "_acquire_rows".
  [[nodiscard]] std::string acquire_name() const;
  // CALLs this procedure for these items, each with one permit, for application "raw" and one
  // minute. Returns the first column of the answer.
  std::string call_acquire(RawMysql& session, const std::string& procedure, const Wanted& wanted);
  // Copies the installed procedure `from` to `to`, with texts replaced. Throws if one of the texts
  // is missing.
  void copy_procedure(const std::string& from, const std::string& to,
                      const std::vector<std::pair<std::string, std::string>>& replaced);
  // Copies the strategy's procedure to `to`, without the final COMMIT of a grant.
  void copy_acquire_without_commit(const std::string& to);

  // True once this many transactions wait for rows at the same time.
  bool rows_are_waited_for(int by = 1);
  // Deadlocks that InnoDB has resolved so far.
  std::int64_t deadlocks();
  // The number of live write holds in the table.
  std::int64_t live_writes(const std::string& name);
  // A value of SHOW GLOBAL STATUS.
  std::int64_t status(const std::string& name);

  // Opening fails with this code, on one line without a password; returns the message.
  std::string refused(const std::string& url, Errc code) const;
  static std::string checked(const Error& error, Errc code);

 private:
  std::string space_;
  std::unique_ptr<RawMysql> admin_;
  std::vector<std::pair<std::string, std::string>> globals_;  // restored at the end
};

// SQL for the server's clock as the tables use it: now, not at the beginning of the statement.
inline const std::string now_us = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";

}  // namespace lockset::mysql_tests

// For tests that may depend on how a transaction locks a name, for tests that may not, and for
// strategy=session.
#define LOCKSET_MYSQL_STRATEGIES(suite)                                                \
  INSTANTIATE_TEST_SUITE_P(Servers, suite,                                             \
                           testing::Values(ServerKind{"mariadb", "select-for-update"}, \
                                           ServerKind{"mariadb", "unique-index"},      \
                                           ServerKind{"mysql", "select-for-update"},   \
                                           ServerKind{"mysql", "unique-index"}),       \
                           name_of)
#define LOCKSET_MYSQL_SESSIONS(suite) \
  INSTANTIATE_TEST_SUITE_P(           \
      Servers, suite,                 \
      testing::Values(ServerKind{"mariadb", "session"}, ServerKind{"mysql", "session"}), name_of)
#define LOCKSET_MYSQL_SERVERS(suite)                                                               \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Servers, suite,                                                                              \
      testing::Values(ServerKind{"mariadb", "unique-index"}, ServerKind{"mysql", "unique-index"}), \
      name_of)
