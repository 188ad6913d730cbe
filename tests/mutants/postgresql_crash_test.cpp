// PostgreSQL with settings that make it forget, killed: what a store loses that tolerates the
// settings, and that Lockset refuses them, even if they change while clients work.
#include <gtest/gtest.h>

#include "lockset/lockset.h"
#include "tests/mutants/crash.h"
#include "tests/mutants/postgresql_store.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using test::eventually;
using test::soon;

class PostgresqlCrash : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    // For both tests: they undo their changes.
    static test::PrivateServer server("postgresql");
    server_ = &server;
    // What is not written at once is written late, so that a kill certainly comes before.
    set("wal_writer_delay", "10s");
  }
  void set(const std::string& setting, const std::string& value) {
    tell_postgresql(
        url(), {"ALTER SYSTEM SET " + setting + " = '" + value + "'", "SELECT pg_reload_conf()"});
    EXPECT_TRUE(eventually([&] { return tell_postgresql(url(), {"SHOW " + setting}) == value; }));
  }
  [[nodiscard]] std::string url() const { return server_->admin_url(); }
  void kill_and_start() { server_->kill(), server_->start(); }

  test::PrivateServer* server_ = nullptr;
};

TEST_F(PostgresqlCrash, WithoutSynchronousCommitGrantsAreLostAndStampsComeAgain) {
  if (!server_) return;
  int tries = 0;
  expect_granted_twice([&] {
    const std::string name = "unsafe" + std::to_string(++tries);
    make_postgresql_store(url(), name, right_postgresql_function);
    const auto connect = [&] {
      return open_postgresql_store(url(), name, "READ COMMITTED", "SET synchronous_commit = off");
    };
    return crash(connect, [&] { kill_and_start(); });
  });
}

TEST_F(PostgresqlCrash, LocksetLosesNothingAlsoIfTheSettingChangesUnderWay) {
  if (!server_) return;
  init_space(url(), soon()).value();
  std::shared_ptr<Backend> opened = open_backend(url(), soon()).value();
  set("synchronous_commit", "off");
  EXPECT_EQ(open_backend(url(), soon()).error().code, Errc::misconfigured) << "newcomers";
  const auto connect = [&]() -> std::shared_ptr<Backend> {
    if (opened) return std::exchange(opened, nullptr);
    return open_backend(url(), soon()).value();
  };
  expect_nothing_lost(crash(connect, [&] {
    kill_and_start();
    set("synchronous_commit", "on");
  }));
}

}  // namespace
}  // namespace lockset::mutants
