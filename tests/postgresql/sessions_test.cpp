// Every connection gets its settings, whatever the server's defaults are; so does one that replaces
// a broken one.
#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Sessions : public PostgresqlTest {
 protected:
  void end_sessions_of(const std::string& user) {
    admin().run("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '" +
                user + "'");
  }
};

// An acquire refuses any level but its own (LS002), so every grant had it.
TEST_P(Sessions, HaveTheirIsolationLevelAlsoAfterTheyBroke) {
  const Address address = runtime_user();
  admin().run("ALTER ROLE " + address.user +
              " SET default_transaction_isolation = 'repeatable read'");
  const std::shared_ptr<Backend> shared = open_backend(address.url(), soon()).value();
  for (int round = 0; round < 3; ++round) {
    test::run_threads(4, [&](std::size_t i) {
      Client mine(shared, "app" + std::to_string(i));
      for (int n = 0; n < 5; ++n) {
        const Stamp stamp = mine.take({write("n" + std::to_string(i))}).stamp;
        EXPECT_TRUE(mine.renew(stamp, 2min));
        EXPECT_TRUE(mine.release(stamp));
      }
    });
    end_sessions_of(address.user);
    // A call that finds its connection broken may say so, and nothing else.
    EXPECT_TRUE(eventually([&] {
      const auto config = shared->load_config(soon());
      EXPECT_TRUE(config || config.error().retryable()) << config.error().message;
      const Result<AcquireOutcome> outcome =
          Client(shared).ask({write("found out")}, {.lease = 1s});
      if (outcome) return true;
      EXPECT_TRUE(outcome.error().retryable() || outcome.error().may_have_applied())
          << outcome.error().message;
      return false;
    }));
  }
}

// The server became read-only meanwhile
TEST_P(Sessions, AreRefusedAgainWhereNothingCanBeGranted) {
  const Address address = runtime_user();
  Client c(open_backend(address.url(), soon()).value());
  const Stamp stamp = c.take({write("a")}).stamp;
  admin().run("ALTER ROLE " + address.user + " SET default_transaction_read_only = on");
  end_sessions_of(address.user);
  Error last{Errc::internal, "none"};
  EXPECT_TRUE(eventually([&] {
    const auto outcome = c.ask_once({write("b")});
    if (outcome) return false;
    last = outcome.error();
    return last.code == Errc::unavailable && says(last.message, "read_only");
  })) << last.message;
  admin().run("ALTER ROLE " + address.user + " RESET default_transaction_read_only");
  EXPECT_TRUE(eventually([&] { return c.ask_once({write("b")}).ok(); })) << "never again";
  EXPECT_TRUE(c.release(stamp));
}

LOCKSET_POSTGRESQL_SUITE(Sessions);

}  // namespace
}  // namespace lockset::postgresql_tests
