// Common parts of the tests for this store only: a server, spaces in it, users, and sessions that
// bypass the backend.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <pqxx/pqxx>
#include <string>
#include <utility>

#include "backends/postgresql/pqxx_versions.h"
#include "lockset/lockset.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::postgresql_tests {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::soon;

// One for the whole run; started at its first use.
test::PrivateServer& server();

// A connection of the administrator; the test controls its transactions.
class Session {
 public:
  explicit Session(const std::string& url = server().admin_url())
      : connection_(url), quiet_(connection_) {}
  pqxx::result run(const std::string& sql) {
    pqxx::nontransaction work(connection_);
    return work.exec(sql);
  }
  std::string text(const std::string& sql) { return run(sql)[0][0].as<std::string>(""); }
  std::int64_t number(const std::string& sql) { return run(sql)[0][0].as<std::int64_t>(); }
  [[nodiscard]] int pid() const { return connection_.backendpid(); }

 private:
  pqxx::connection connection_;
  postgresql::Quiet quiet_;
};

// The server's address with other parts.
struct Address {
  std::string user;
  std::string password;
  std::string host = "127.0.0.1";
  std::string database = "lockset";
  std::string parameters;
  [[nodiscard]] std::string url() const;
};

bool says(const std::string& message, const std::string& part);

// Sets a variable of this process's environment while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment();

 private:
  const char* name_;
};

// Runs at the end even if an exception ends a test's thread: the others must not wait for ever.
class AtEnd {
 public:
  explicit AtEnd(std::function<void()> work) : work_(std::move(work)) {}
  AtEnd(const AtEnd&) = delete;
  AtEnd& operator=(const AtEnd&) = delete;
  ~AtEnd() { work_(); }

 private:
  std::function<void()> work_;
};

class PostgresqlTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;
  void TearDown() override;

  // "advisory" or "serializable".
  [[nodiscard]] const std::string& strategy() const { return GetParam(); }
  // The space of this test, made by SetUp.
  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] std::string url(const std::string& more = {}) const;
  // Makes the server as read-only as a standby is, or as it was. Sessions learn of it at their next
  // call, or a little later.
  void set_read_only(bool on) {
    admin().run("SET default_transaction_read_only = off");
    admin().run(std::string("ALTER SYSTEM ") + (on ? "SET default_transaction_read_only = on"
                                                   : "RESET default_transaction_read_only"));
    admin().run("SELECT pg_reload_conf()");
    EXPECT_TRUE(eventually([&] {
      return Session().text("SHOW default_transaction_read_only") == (on ? "on" : "off");
    }));
  }
  [[nodiscard]] std::shared_ptr<Backend> open(const std::string& more = {}) const;
  [[nodiscard]] Client client(const std::string& app = "app") const;
  [[nodiscard]] Session& admin() { return *admin_; }

  // SQL that asks for a write of `name`, without the backend.
  [[nodiscard]] std::string acquire_sql(const std::string& name,
                                        const std::string& function = "acquire_v2") const;
  // SQL that begins the transaction that it needs.
  [[nodiscard]] std::string begin_sql() const;
  // The number of rows of a table of the space, without the backend.
  std::int64_t count(const std::string& table);
  void drop_space();
  // True once a session whose statement contains `part` waits for a lock.
  bool somebody_waits(const std::string& part);
  // Makes a user with a program's rights on the space; dropped with the test.
  Address runtime_user(const std::string& password = "open sesame");
  // Opening with this address fails with this code; returns the message.
  static std::string refused(const std::string& url, Errc code);

 private:
  std::string space_;
  std::unique_ptr<Session> admin_;
  std::string user_;
};

}  // namespace lockset::postgresql_tests

#define LOCKSET_POSTGRESQL_SUITE(suite)                                              \
  INSTANTIATE_TEST_SUITE_P(Strategies, suite,                                        \
                           testing::Values(std::string("advisory"), "serializable"), \
                           [](const auto& each) { return each.param; })
