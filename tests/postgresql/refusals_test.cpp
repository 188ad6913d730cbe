// Each failure is an error of the right kind, on one line, with the remedy.
#include <thread>
#include <vector>

#include "tests/postgresql/fixture.h"
#include "tests/support/event_counts.h"

namespace lockset::postgresql_tests {
namespace {

class Refusals : public PostgresqlTest {};

TEST_P(Refusals, ADatabaseThatIsNotThere) {
  Address address = runtime_user();
  address.database = "nowhere";
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "3D000"));
}

TEST_P(Refusals, ASpaceThatIsNotThere) {
  const std::string url = server().admin_url() + "?space=nowhere";
  EXPECT_TRUE(says(refused(url, Errc::misconfigured), "lockset init"));
}

TEST_P(Refusals, AUserWithoutRights) {
  const Address address = runtime_user();
  admin().run("REVOKE USAGE ON SCHEMA " + space() + " FROM " + address.user);
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "lockset init --program"));
}

TEST_P(Refusals, InitWithoutRights) {
  Address address = runtime_user();
  address.parameters = "space=another";
  const Status status = init_space(address.url(), soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
}

TEST_P(Refusals, AServerThatIsNotThere) {
  refused("postgresql://u:p@127.0.0.1:1/lockset", Errc::unavailable);
}

TEST_P(Refusals, AFullServer) {
  const Address address = runtime_user();
  admin().run("ALTER ROLE " + address.user + " CONNECTION LIMIT 0");
  EXPECT_TRUE(says(refused(address.url(), Errc::unavailable), "max_connections"));
}

// Other threads of the same program continue with the existing connections.
TEST_P(Refusals, AConnectionLimitLeavesTheOthersAlone) {
  const Address address = runtime_user();
  // strategy=serializable keeps additional connections, for acquires.
  const char* limit = strategy() == "advisory" ? "3" : "8";
  admin().run("ALTER ROLE " + address.user + " CONNECTION LIMIT " + limit);
  const std::shared_ptr<Backend> shared = open_backend(address.url(), soon()).value();
  test::run_threads(6, [&](std::size_t i) {
    Client mine(shared, "app" + std::to_string(i));
    for (int n = 0; n < 20; ++n) {
      const Stamp stamp = mine.take({write("n" + std::to_string(i))}).stamp;
      EXPECT_TRUE(mine.release(stamp));
    }
  });
}

TEST_P(Refusals, AServerThatOnlyReads) {
  const Address address = runtime_user();
  admin().run("ALTER ROLE " + address.user + " SET default_transaction_read_only = on");
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "read_only"));
}

// While it runs: certainly not applied
TEST_P(Refusals, ADatabaseThatBecomesReadOnly) {
  Client c = client();
  const Stamp stamp = c.take({write("a")}).stamp;
  admin().run("ALTER DATABASE lockset SET default_transaction_read_only = on");
  // Existing connections don't notice it; new ones are refused.
  EXPECT_TRUE(c.release(stamp));
  const auto late = open_backend(url(), soon());
  admin().run("SET default_transaction_read_only = off");
  admin().run("ALTER DATABASE lockset RESET default_transaction_read_only");
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::misconfigured) << late.error().message;
}

// Existing connections notice it once the whole server is read-only: then functions that run with
// their owner's rights don't grant, renew or release either.
TEST_P(Refusals, AServerThatBecomesReadOnly) {
  Client c = client();
  const auto events = std::make_shared<test::EventCounts>();
  Locks locks = lockset::open(url(), {.observer = events}).value();
  const Stamp stamp = c.take({write("a")}).stamp;
  const bool observing = c.backend().traits().observing;
  const std::vector<std::string> seen{"a"};
  if (observing) c.observe(seen);
  set_read_only(true);
  const AtEnd writable([&] { set_read_only(false); });
  const auto expect_refused = [](const std::string& what, const auto& result) {
    ASSERT_FALSE(result) << what;
    EXPECT_EQ(result.error().code, Errc::unavailable) << what << ": " << result.error().message;
    EXPECT_TRUE(says(result.error().message, "read-only") ||
                says(result.error().message, "read_only"))
        << result.error().message;
  };
  // First, on a connection from before. Another server may have taken its place, and what this one
  // knows may be old: SEM 27.
  const ObserveRequest observe{seen, c.config().version, soon()};
  if (observing) expect_refused("an observation", c.backend().observe(observe));
  expect_refused("an acquire", c.ask_once({write("b")}));
  const RenewRequest request{stamp, 5min};
  expect_refused("a renewal", c.backend().renew(c.owner(), {&request, 1}, soon()));
  expect_refused("a release", c.backend().release(stamp, "app", soon()));
  expect_refused("a change", c.backend().change_config(SetPermits{"a", Mode::read, 2}, soon()));
  refused(url(), Errc::misconfigured);
  // A failover is under way. A waiter waits until the address leads to a primary.
  std::thread program([&] {
    const Result<Hold> hold = locks.acquire({write("b")}, {.wait = 1min});
    EXPECT_TRUE(hold) << hold.error().message;
  });
  EXPECT_TRUE(eventually([&] { return events->retried >= 2; }));
  set_read_only(false);
  program.join();
}

TEST_P(Refusals, CommitsThatAreNotDurable) {
  for (const char* unsafe : {"off", "local"}) {
    const Address address = runtime_user();
    admin().run("ALTER ROLE " + address.user + " SET synchronous_commit = " + unsafe);
    EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "synchronous_commit"));
    const std::vector<Finding> findings = examine_space(address.url(), soon()).value();
    bool found = false;
    for (const Finding& each : findings) {
      found =
          found || (each.level == Finding::Level::unsafe && each.subject == "synchronous_commit");
    }
    EXPECT_TRUE(found);
    admin().run("DROP OWNED BY " + address.user);
    admin().run("DROP ROLE " + address.user);
  }
  runtime_user();  // for TearDown
}

// Behind a pooler we can't set up the session. A user who would not get the warning that a commit
// is only on this server is refused.
TEST_P(Refusals, APoolersUserWhoHearsNoWarnings) {
  Address address = runtime_user();
  admin().run("ALTER ROLE " + address.user + " SET client_min_messages = error");
  EXPECT_TRUE(open_backend(address.url(), soon())) << "a session of our own";
  address.parameters += "&pooler=on";
  EXPECT_TRUE(says(refused(address.url(), Errc::misconfigured), "client_min_messages"));
  bool found = false;
  for (const Finding& each : examine_space(address.url(), soon()).value()) {
    found =
        found || (each.level == Finding::Level::unsafe && each.subject == "client_min_messages");
  }
  EXPECT_TRUE(found);
}

TEST_P(Refusals, AnEncodingWithoutAllNames) {
  admin().run("CREATE DATABASE " + space() + " ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const std::string admin_url = server().admin_url();
  const std::string url = admin_url.substr(0, admin_url.rfind('/') + 1) + space();
  const Status status = init_space(url, soon());
  admin().run("DROP DATABASE " + space() + " WITH (FORCE)");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(status.error().message, "UTF8")) << status.error().message;
}

TEST_P(Refusals, AnotherStrategyThanTheSpaces) {
  const std::string other = strategy() == "advisory" ? "serializable" : "advisory";
  const std::string url = server().admin_url() + "?space=" + space() + "&strategy=" + other;
  EXPECT_TRUE(says(refused(url, Errc::misconfigured), "strategy=" + strategy()));
  const Status status = init_space(url, soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
  // Without it the space's strategy applies.
  EXPECT_TRUE(open_backend(server().admin_url() + "?space=" + space(), soon()));
  EXPECT_TRUE(init_space(server().admin_url() + "?space=" + space(), soon()));
}

TEST_P(Refusals, ASchemaOfSomethingElse) {
  admin().run("CREATE SCHEMA " + space() + "_x");
  admin().run("CREATE TABLE " + space() + "_x.locks(mine text)");
  const Status status = init_space(server().admin_url() + "?space=" + space() + "_x", soon());
  admin().run("SET client_min_messages = warning");
  admin().run("DROP SCHEMA " + space() + "_x CASCADE");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
}

TEST_P(Refusals, AnAddressThatCantBeMeant) {
  const std::string base = "postgresql://u@h/db?";
  EXPECT_TRUE(says(refused(base + "speed=9", Errc::invalid), "strategy"));
  refused(base + "space=A", Errc::invalid);
  refused(base + "space=pg_mine", Errc::invalid);
  refused(base + "space=" + std::string(33, 'a'), Errc::invalid);
  refused(base + "strategy=luck", Errc::invalid);
  refused(base + "pool=0", Errc::invalid);
  refused(base + "connect_timeout=soon", Errc::invalid);
  refused(base + "pooler=perhaps", Errc::invalid);
  refused("postgresql://u@h:http/db", Errc::invalid);
  refused("postgresql://u@h/db/more", Errc::invalid);
  refused("postgresql:db", Errc::invalid);
}

// SEM 14: a lock that somebody keeps means certainly not applied, before the deadline
TEST_P(Refusals, ATransactionLeftOpenInTheWay) {
  Client c = client();
  const Stamp stamp = c.take({write("a")}).stamp;
  Session rude;
  rude.run("BEGIN");
  rude.run("SELECT FROM " + space() + ".locks FOR UPDATE");
  const test::Stopwatch watch;
  const Result<bool> released = c.backend().release(stamp, "app", watch.began() + 4s);
  EXPECT_LT(watch.elapsed(), 5s);
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Errc::unavailable) << released.error().message;
  rude.run("ROLLBACK");
  EXPECT_TRUE(c.release(stamp));
}

// --- versions ---

TEST_P(Refusals, ANewerSpace) {
  Client running = client();
  admin().run("UPDATE " + space() + ".meta SET schema_version = 3");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "newer program"));
  const Status status = init_space(url(), soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured) << status.error().message;
  // An upgrade removes the old functions: running programs learn why at their next call.
  admin().run("SET client_min_messages = warning");
  admin().run("ALTER FUNCTION " + space() + ".acquire_v2 RENAME TO acquire_v3");
  const Result<AcquireOutcome> outcome = running.ask_once({write("a")});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(outcome.error().message, "newer program")) << outcome.error().message;
}

TEST_P(Refusals, AnOlderSpaceIsBroughtUpToDate) {
  admin().run("UPDATE " + space() + ".meta SET schema_version = 0");
  EXPECT_TRUE(says(refused(url(), Errc::misconfigured), "lockset init"));
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_TRUE(client().take({write("a")}).stamp);
}

LOCKSET_POSTGRESQL_SUITE(Refusals);

}  // namespace
}  // namespace lockset::postgresql_tests
