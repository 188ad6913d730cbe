// Making a space, twice, concurrently, by hand and during work; and the settings of a server that
// would break promises.
#include <atomic>
#include <thread>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class SpaceTest : public MysqlTest {
 protected:
  bool examined_as_unsafe(const std::string& subject) {
    const std::vector<Finding> findings = examine_space(url(), soon()).value();
    for (const Finding& finding : findings) {
      if (finding.level == Finding::Level::unsafe && finding.subject == subject) return true;
    }
    return false;
  }
  [[nodiscard]] std::string url_of(const std::string& space) const {
    return server().admin_url() + "?space=" + space + "&strategy=" + strategy();
  }
};

// SEM 20: durable, otherwise refused
TEST_P(SpaceTest, CommitsThatAreNotDurableAreRefused) {
  EXPECT_FALSE(examined_as_unsafe("innodb_flush_log_at_trx_commit"));
  for (const char* const value : {"0", "2"}) {
    set_global("innodb_flush_log_at_trx_commit", value);
    EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "innodb_flush_log_at_trx_commit"));
    EXPECT_TRUE(examined_as_unsafe("innodb_flush_log_at_trx_commit"));
  }
}

TEST_P(SpaceTest, InitTwiceChangesNothing) {
  Client mine = client();
  mine.set_permits("a", Mode::read, 7);
  const Stamp stamp = mine.take({write("b")}).stamp;
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(client().config().permits_of("a").read, 7U);
  EXPECT_EQ(client().config().version, mine.config().version);
  EXPECT_TRUE(mine.is_live(stamp));
}

// A space by a program that did not know changes at a version. Such a program that is still
// connected is refused only changes of the configuration.
TEST_P(SpaceTest, InitBringsAnOlderSpaceUpToDate) {
  Client mine = client();
  const Stamp stamp = mine.take({write("b")}).stamp;
  mine.set_permits("a", Mode::read, 7);
  const SpaceConfig there = mine.config();
  admin().rows("UPDATE " + table("_space") + " SET procedures = 'older'");
  admin().rows("DROP PROCEDURE " + table("_change"));
  admin().rows("CREATE PROCEDURE " + table("_change") +
               "(p_kind VARBINARY(16), p_name VARBINARY(255), p_mode TINYINT, p_value BIGINT) "
               "UPDATE " +
               table("_space") + " SET config_version = config_version + 1");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "lockset init"));
  const SetMigrationPhase change{18, there.version};
  const Result<SpaceConfig> denied = mine.backend().change_config(change, soon());
  ASSERT_FALSE(denied);
  EXPECT_EQ(denied.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(denied.error().message, "lockset init")) << denied.error().message;
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(client().config(), there);
  mine.change(change);
  EXPECT_EQ(mine.config().migration_phase, 18);
  EXPECT_TRUE(mine.release(stamp));
}

TEST_P(SpaceTest, SeveralInitsAtOnceMakeOneSpace) {
  const std::string fresh = space() + "f";
  test::run_threads(4, [&](std::size_t) {
    const Status status = init_space(url_of(fresh), BootClock::now() + 30s);
    EXPECT_TRUE(status) << status.error().message;
  });
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + fresh + "_space"), 1);
  EXPECT_TRUE(Client(open_backend(url_of(fresh), soon()).value()).take({write("a")}).stamp);
}

// As `mysql` and `mariadb` read it: statements end at the present delimiter.
TEST_P(SpaceTest, TheScriptMakesAUsableSpace) {
  const std::string fresh = space() + "s";
  const std::string script = init_script(url_of(fresh)).value();
  for (int twice = 0; twice < 2; ++twice) {
    const auto client = session();
    std::string delimiter = ";";
    std::string statement;
    for (std::size_t at = 0; at < script.size();) {
      const std::size_t end = script.find('\n', at);
      ASSERT_NE(end, std::string::npos) << "the last line does not end";
      const std::string line = script.substr(at, end - at);
      at = end + 1;
      if (statement.empty() && line.starts_with("DELIMITER ")) {
        delimiter = line.substr(10);
        continue;
      }
      if (statement.empty() && (line.empty() || line.starts_with("--"))) continue;
      statement += line + "\n";
      if (!line.ends_with(delimiter)) continue;
      statement.resize(statement.size() - 1 - delimiter.size());
      client->rows(statement);
      statement.clear();
    }
    EXPECT_EQ(statement, "");
  }
  Client mine(open_backend(url_of(fresh), soon()).value());
  EXPECT_TRUE(mine.release(mine.take({write("a"), read("b")}).stamp));
}

// Procedures are made again while clients work: no client gets an error except one that is
// certainly not applied, or a line that names lockset init; and there is no wrong grant.
TEST_P(SpaceTest, AnInitWhileClientsWork) {
  const std::shared_ptr<Backend> backend = open();
  std::atomic<bool> ended = false;
  std::atomic<int> inside = 0;
  std::atomic<int> grants = 0;
  std::thread init([&] {
    for (int i = 0; i < 5; ++i) {
      const auto other = session();
      other->rows("UPDATE " + table("_space") + " SET procedures = 'older'");
      const Status status = init_space(url(), BootClock::now() + 30s);
      EXPECT_TRUE(status) << status.error().message;
    }
    ended = true;
  });
  test::run_threads(4, [&](std::size_t index) {
    Client mine(backend, "app" + std::to_string(index));
    while (!ended) {
      const Result<AcquireOutcome> outcome = mine.ask({write("a")});
      if (!outcome) {
        EXPECT_TRUE(outcome.error().code == Errc::misconfigured ||
                    outcome.error().code == Errc::unavailable)
            << outcome.error().message;
        continue;
      }
      const auto* grant = std::get_if<Grant>(&*outcome);
      if (grant == nullptr) continue;
      EXPECT_EQ(++inside, 1);
      ++grants;
      --inside;
      while (!mine.backend().release(grant->stamp, mine.owner().app, soon())) {
      }
    }
  });
  init.join();
  EXPECT_GT(grants, 0);
}

LOCKSET_MYSQL_SERVERS(SpaceTest);

}  // namespace
}  // namespace lockset::mysql_tests
