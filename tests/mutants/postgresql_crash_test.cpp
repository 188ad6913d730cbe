// PostgreSQL set up so that it forgets, killed: what a store loses that bears it, and that
// Lockset does not bear it, also when it comes to be so while clients are at work.
#include <gtest/gtest.h>

#include "lockset/lockset.h"
#include "tests/mutants/crash.h"
#include "tests/mutants/postgresql_store.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;
using test::Client;
using test::eventually;
using test::soon;

class PostgresqlCrash : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("postgresql")) return;
    // Of both tests: what they change they put back.
    static test::PrivateServer server("postgresql");
    server_ = &server;
    // What is not written at once is written late, so that a kill surely comes before.
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

// SEM 9, 10: what a crash may undo is the release of a hold that would have ended soon, and
// only while nothing was granted in its place
TEST_F(PostgresqlCrash, OnlyReleasesOfHoldsThatEndSoonAreForgotten) {
  if (!server_) return;
  for (const std::string strategy : {"advisory", "serializable"}) {
    const std::string space = url() + "?space=" + strategy + "&strategy=" + strategy;
    init_space(space, soon()).value();
    const auto client = [&] { return Client(open_backend(space, soon()).value()); };
    Client before = client();
    const Stamp lengthy = before.take({write("lengthy"), read("more")}, {.lease = 5min}).stamp;
    const Stamp permanent = before.take({write("permanent")}).stamp;
    ASSERT_TRUE(before.make_permanent(permanent));
    const Stamp replaced = before.take({write("replaced")}, {.lease = 30s}).stamp;
    EXPECT_TRUE(before.release(replaced));
    const Stamp next = before.take({write("replaced")}, {.lease = 30s}).stamp;
    EXPECT_TRUE(before.release(lengthy));
    kill_and_start();
    Client after = client();
    EXPECT_FALSE(after.is_live(lengthy));
    EXPECT_TRUE(after.is_live(permanent));
    EXPECT_FALSE(after.is_live(replaced)) << "another was granted its place";
    EXPECT_TRUE(after.is_live(next));
    EXPECT_TRUE(after.release(permanent));
    kill_and_start();
    after = client();
    EXPECT_FALSE(after.is_live(permanent));
    const Stamp brief = after.take({write("brief")}, {.lease = 2s}).stamp;
    const Stamp broken = after.take({write("broken")}, {.lease = 30s}).stamp;
    EXPECT_TRUE(after.break_hold(broken));
    EXPECT_TRUE(after.release(brief));
    kill_and_start();
    after = client();
    EXPECT_FALSE(after.is_live(broken));
    // Forgotten or not: within the lease it is to be had, and then with a greater stamp.
    Stamp later;
    EXPECT_TRUE(eventually([&] {
      const auto grant = after.try_take({write("brief")});
      if (grant) later = grant->stamp;
      return grant.has_value();
    }));
    EXPECT_GT(later, brief);
    EXPECT_FALSE(after.is_live(brief));
  }
}

}  // namespace
}  // namespace lockset::mutants
