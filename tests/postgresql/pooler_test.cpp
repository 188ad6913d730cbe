// Through PgBouncer in transaction mode: what works, and the messages about the rest.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "lockset/url.h"
#include "tests/postgresql/fixture.h"
#include "tests/support/event_counts.h"
#include "tests/support/requirement.h"
#include "tools/child.h"

namespace lockset::postgresql_tests {
namespace {

const char* const program = "/usr/sbin/pgbouncer";

class PoolerTest : public PostgresqlTest {
 protected:
  void SetUp() override {
    PostgresqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (!std::filesystem::exists(program)) {
      ASSERT_FALSE(test::required("postgresql")) << "required: PgBouncer";
      GTEST_SKIP() << "lacks: PgBouncer (Debian package pgbouncer)";
    }
    start();
  }
  void TearDown() override {
    pooler_.reset();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
    PostgresqlTest::TearDown();
  }

  [[nodiscard]] std::string pooled(const std::string& more) const {
    const Url url = Url::parse(server().admin_url()).value();
    return "postgresql://" + url.user + ":" + url.password + "@127.0.0.1:" + std::to_string(port_) +
           "/lockset?space=" + space() + more;
  }

 private:
  void start() {
    std::string path = (std::filesystem::temp_directory_path() / "lockset-pooler-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    const Url url = Url::parse(server().admin_url()).value();
    std::ofstream(folder_ / "users") << '"' << url.user << "\" \"" << url.password << "\"\n";
    // A port that is free now; another one if somebody else takes it first.
    for (int tries = 0; tries < 20; ++tries) {
      port_ = 20'000 + static_cast<int>(Token::random().bytes[0]) * 100 +
              Token::random().bytes[1] % 100;
      std::ofstream(folder_ / "config")
          << "[databases]\nlockset = host=127.0.0.1 port=" << server().port()
          << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
          << "\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = "
          << (folder_ / "users").string()
          << "\npool_mode = transaction\nmax_client_conn = 100\ndefault_pool_size = 3\n";
      // It ends with this process, however that ends.
      std::vector<std::string> command{"/usr/bin/setpriv", "--pdeathsig", "KILL"};
      if (::geteuid() == 0) {
        command.insert(command.end(), {"--reuid", "postgres", "--clear-groups"});
      }
      command.insert(command.end(), {"--", program, (folder_ / "config").string()});
      pooler_ = std::make_unique<tools::Child>(command);
      const bool up = eventually(
          [&] { return open_backend(pooled("&pooler=on"), BootClock::now() + 1s).ok(); }, 3s);
      if (up) return;
    }
    FAIL() << "PgBouncer does not start";
  }

  std::filesystem::path folder_;
  std::unique_ptr<tools::Child> pooler_;
  int port_ = 0;
};

TEST_P(PoolerTest, IsFoundOutAndNamed) {
  const std::string message = refused(pooled(""), Errc::misconfigured);
  EXPECT_NE(message.find("pooler=on"), std::string::npos) << message;
  bool unsafe = false;
  for (const Finding& each : examine_space(pooled(""), soon()).value()) {
    unsafe = unsafe || (each.subject == "pooler" && each.level == Finding::Level::unsafe);
  }
  EXPECT_TRUE(unsafe);
  bool warned = false;
  for (const Finding& each : examine_space(pooled("&pooler=on"), soon()).value()) {
    warned = warned || (each.subject == "pooler" && each.level == Finding::Level::warning);
    EXPECT_NE(each.level, Finding::Level::unsafe) << each.subject << ": " << each.text;
  }
  EXPECT_TRUE(warned);
}

TEST_P(PoolerTest, LeavesNoTraceOnTheServersSessions) {
  const auto refusal = open_backend(pooled(""), soon());
  EXPECT_FALSE(refusal);
  Session session(pooled("").substr(0, pooled("").find('?')));
  EXPECT_EQ(session.text("SHOW statement_timeout"), "0");
  EXPECT_EQ(session.text("SHOW default_transaction_isolation"), "read committed");
}

// More clients than server connections, so that each statement may run in another session
TEST_P(PoolerTest, AllCallsWork) {
  const std::shared_ptr<Backend> shared = open_backend(pooled("&pooler=on"), soon()).value();
  EXPECT_FALSE(shared->traits().push_wakeup);
  std::atomic<int> holders = 0;
  test::run_threads(8, [&](std::size_t i) {
    Client mine(shared, "app" + std::to_string(i));
    const auto use = [&](const Grant& grant, const Token& token) {
      EXPECT_EQ(mine.resolve(token).value().stamp, grant.stamp);
      EXPECT_TRUE(mine.renew(grant.stamp, 1min));
    };
    for (int n = 0; n < 10; ++n) {
      const Token token = Token::random();
      const Grant grant = mine.take(
          {write("own" + std::to_string(i)), read("n" + std::to_string(i))}, {.token = token});
      use(grant, token);
      EXPECT_TRUE(mine.release(grant.stamp));
    }
    // Then all use one name, until each one had its turn.
    const TimePoint end = BootClock::now() + 1min;
    while (true) {
      const Token token = Token::random();
      if (const auto grant = mine.try_take({write("hot")}, {.token = token})) {
        EXPECT_EQ(++holders, 1);
        use(*grant, token);
        --holders;
        EXPECT_TRUE(mine.release(grant->stamp));
        break;
      }
      if (BootClock::now() > end) throw std::runtime_error("no turn on the hot name");
      test::linger(5ms);  // eight clients that ask without a pause would leave the holder no turn
    }
  });
  Client c(shared);
  c.set_permits("x", Mode::read, 2);
  EXPECT_TRUE(c.inspect().holds.empty());
  EXPECT_TRUE(shared->sweep(soon()));
}

TEST_P(PoolerTest, WaitingIsPolling) {
  Client holder(open_backend(pooled("&pooler=on"), soon()).value());
  const auto events = std::make_shared<test::EventCounts>();
  Locks locks = lockset::open(pooled("&pooler=on"), {.app = "waiter", .observer = events}).value();
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::thread release([&] {
    EXPECT_TRUE(eventually([&] { return events->busy > 0; })) << "it does not wait";
    EXPECT_TRUE(holder.release(stamp));
  });
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
  release.join();
  EXPECT_TRUE(hold) << hold.error().message;
}

LOCKSET_POSTGRESQL_SUITE(PoolerTest);

}  // namespace
}  // namespace lockset::postgresql_tests
