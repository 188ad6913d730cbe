// SEM 4, 10: traps in which the obvious statements grant twice. Next to ours, each test shows a
// wrong variant that does, so that the test can't become meaningless.
#include <atomic>
#include <optional>
#include <thread>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Traps : public PostgresqlTest {
 protected:
  // Takes "a", and renews it in a session that does not commit yet, until the old lease has ended.
  void take_and_renew(Client& holder, Session& session, Stamp& stamp) {
    bool renewed = false;
    // On a machine that stalls, a short lease may end before it is renewed.
    for (Duration lease = 1s; !renewed && lease < 10s; lease *= 2) {
      session.run("BEGIN");
      stamp = holder.take({write("a")}, {.lease = lease}).stamp;
      renewed = session
                    .run("SELECT * FROM " + space() + ".renew_v2('app', ARRAY[" +
                         std::to_string(stamp.value) + "], ARRAY[60000000])")
                    .size() == 2;
      if (!renewed) session.run("ROLLBACK");
    }
    ASSERT_TRUE(renewed);
    ASSERT_TRUE(eventually([&] {
      return admin().text("SELECT expires < clock_timestamp() FROM " + space() +
                          ".locks WHERE stamp = " + std::to_string(stamp.value)) == "t";
    }));
  }
};

// SEM 10: an acquire at the end of a lease waits for a renewal under way
TEST_P(Traps, ARenewalUnderWayIsWaitedFor) {
  Client holder = client();
  Session renewer;
  Stamp stamp;
  take_and_renew(holder, renewer, stamp);
  Client other = client("other");
  std::optional<Grant> grant;
  std::thread thread([&] { grant = other.try_take({write("a")}); });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  renewer.run("COMMIT");
  thread.join();
  EXPECT_FALSE(grant) << "granted beside a hold that was renewed";
  EXPECT_TRUE(holder.is_live(stamp));
}

// SEM 10: and if that is rolled back, the hold has ended
TEST_P(Traps, ARenewalThatIsRolledBackIsNone) {
  Client holder = client();
  Session renewer;
  Stamp stamp;
  take_and_renew(holder, renewer, stamp);
  Client other = client("other");
  std::optional<Grant> grant;
  std::thread thread([&] { grant = other.try_take({write("a")}); });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  renewer.run("ROLLBACK");
  thread.join();
  EXPECT_TRUE(grant);
  EXPECT_FALSE(holder.renew(stamp, 1min)) << "revived";
}

// The wrong variant: admission filters by the expiry, and does not remove
TEST_P(Traps, ToFilterByTheExpiryWouldGrantTwice) {
  Client holder = client();
  Session renewer;
  Stamp stamp;
  take_and_renew(holder, renewer, stamp);
  Session bad;
  const pqxx::result granted =
      bad.run("INSERT INTO " + space() +
              ".locks (stamp, expires, mode, name, app, size, created) "
              "SELECT 1, clock_timestamp() + interval '1 min', 'w', 'a', 'bad', 1, now() "
              "WHERE NOT EXISTS (SELECT FROM " +
              space() + ".locks WHERE name = 'a' AND expires > clock_timestamp()) RETURNING stamp");
  renewer.run("COMMIT");
  EXPECT_EQ(granted.size(), 1U);
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() +
                           ".locks WHERE expires > clock_timestamp()"),
            2)
      << "two live holds of one name: the trap is real";
}

// SEM 4: a state from before the lock does not decide
TEST_P(Traps, AStaleStateBehindALockDecidesNothing) {
  Client second = client("second");
  if (strategy() == "serializable") {
    // Its row exists now.
    ASSERT_TRUE(second.release(second.take({write("a")}).stamp));
  }
  Session first;
  first.run("BEGIN ISOLATION LEVEL " +
            std::string(strategy() == "advisory" ? "READ COMMITTED" : "SERIALIZABLE"));
  ASSERT_EQ(first.text(acquire_sql("a")).front(), 'G');
  std::optional<Grant> grant;
  std::thread thread([&] { grant = second.try_take({write("a")}); });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  first.run("COMMIT");
  thread.join();
  EXPECT_FALSE(grant);
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() + ".locks"), 1);
}

// The wrong variant: lock and look in one statement
TEST_P(Traps, ALockAndALookInOneStatementWouldGrantTwice) {
  const std::string table = space() + ".bad";
  admin().run("CREATE TABLE " + table + "(name text)");
  const std::string bad =
      "WITH l AS MATERIALIZED (SELECT pg_advisory_xact_lock(4711, 1)) INSERT INTO " + table +
      " SELECT 'a' FROM l WHERE NOT EXISTS (SELECT FROM " + table + " WHERE name = 'a')";
  Session first;
  first.run("BEGIN");
  first.run(bad);
  std::thread thread([&] { Session().run(bad); });
  EXPECT_TRUE(somebody_waits("4711"));
  first.run("COMMIT");
  thread.join();
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + table), 2) << "the trap is real";
}

// SEM 8: a stamp is drawn after the release that made room, because that takes no lock on a name.
// If it were drawn before, it would be older than a grant on another name that had returned before
// that release.
TEST_P(Traps, AStampIsYoungerThanTheReleaseThatMadeRoom) {
  Client holder = client();
  const Stamp before = holder.take({write("a")}).stamp;
  Session session;
  session.run("BEGIN");
  session.run("LOCK TABLE " + space() + ".locks IN ACCESS EXCLUSIVE MODE");
  Client other = client("other");
  std::optional<Grant> grant;
  std::thread thread([&] { grant = other.try_take({write("a")}); });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  const std::int64_t drawn = std::stoll(session.text("SELECT nextval('" + space() + ".stamps')"));
  session.run("DELETE FROM " + space() + ".locks WHERE stamp = " + std::to_string(before.value));
  session.run("COMMIT");
  thread.join();
  // Under strategy=serializable the set may be busy: its state is from before the release.
  EXPECT_TRUE(grant || strategy() == "serializable");
  if (grant) {
    EXPECT_GT(grant->stamp.value, drawn);
  }
}

// Each strategy refuses the isolation levels that it is not made for
TEST_P(Traps, AnotherIsolationLevelIsRefused) {
  Session session;
  session.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  try {
    session.run(acquire_sql("a"));
    ADD_FAILURE() << "it was granted";
  } catch (const pqxx::sql_error& error) {
    EXPECT_EQ(error.sqlstate(), "LS002");
  }
}

// SEM 4: strategy=serializable stays safe even if predicate locks fail. REPEATABLE READ has none at
// all: the loser meets the row that the winner changed.
TEST_P(Traps, TheRowsOfTheNamesDoWithoutPredicateLocks) {
  if (strategy() != "serializable") {
    // REPEATABLE READ would grant twice there: that is why it is refused.
    std::string body = admin().text(
        "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE "
        "proname = 'acquire_v2' AND pronamespace = '" +
        space() + "'::regnamespace");
    body.replace(body.find("acquire_v2"), 10, "acquire_rr");
    body.replace(body.find("'read committed'"), 16, "'repeatable read'");
    admin().run(body);
    Session first;
    first.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    ASSERT_EQ(first.text(acquire_sql("a", "acquire_rr")).front(), 'G');
    std::string answer;
    std::thread thread([&] {
      Session second;
      second.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
      answer = second.text(acquire_sql("a", "acquire_rr"));
      second.run("COMMIT");
    });
    EXPECT_TRUE(somebody_waits("acquire_rr"));
    first.run("COMMIT");
    thread.join();
    EXPECT_EQ(answer.substr(0, 1), "G") << "the trap is real";
    return;
  }
  Client known = client();
  ASSERT_TRUE(known.release(known.take({write("a")}).stamp));
  std::string body = admin().text(
      "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = "
      "'acquire_v2' AND pronamespace = '" +
      space() + "'::regnamespace");
  body.replace(body.find("acquire_v2"), 10, "acquire_rr");
  body.replace(body.find("'serializable'"), 14, "'repeatable read'");
  admin().run(body);
  Session first;
  first.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  ASSERT_EQ(first.text(acquire_sql("a", "acquire_rr")).front(), 'G');
  std::atomic<bool> failed = false;
  std::thread thread([&] {
    Session second;
    second.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    try {
      second.run(acquire_sql("a", "acquire_rr"));
    } catch (const pqxx::serialization_failure&) {
      failed = true;
    }
  });
  EXPECT_TRUE(somebody_waits("acquire_rr"));
  first.run("COMMIT");
  thread.join();
  EXPECT_TRUE(failed);
}

// SEM 7, 12: an acquire that is under way during a takeover of its application leaves no hold
TEST_P(Traps, AnAcquireUnderWayDoesNotSurviveAReclaim) {
  Client young = client("app");
  const std::int64_t epoch = young.take({write("@app:app")}).stamp.value;
  if (strategy() == "serializable") {
    // Its row exists now.
    ASSERT_TRUE(young.release(young.take({write("a")}).stamp));
  }
  Session old;
  old.run("BEGIN ISOLATION LEVEL " +
          std::string(strategy() == "advisory" ? "READ COMMITTED" : "SERIALIZABLE"));
  std::string sql = acquire_sql("a");
  sql.replace(sql.find("'raw'"), 5, "'app'");
  ASSERT_EQ(old.text(sql).front(), 'G');
  std::thread thread([&] { EXPECT_EQ(young.backend().reclaim("app", epoch, soon()).value(), 1U); });
  EXPECT_TRUE(somebody_waits("reclaim_v2"));
  old.run("COMMIT");
  thread.join();
  EXPECT_EQ(young.holds().size(), 1U) << "but the hold on the application id";
}

LOCKSET_POSTGRESQL_SUITE(Traps);

}  // namespace
}  // namespace lockset::postgresql_tests
