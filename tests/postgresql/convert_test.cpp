// SEM 29, 30: conversions that meet other transactions of the same hold and name.
#include <atomic>
#include <optional>
#include <thread>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Convert : public PostgresqlTest {
 protected:
  // SQL that takes "a" as write ('w') or read ('r') in the place of an application's hold, without
  // the backend.
  [[nodiscard]] std::string convert_sql(Stamp stamp, char mode, const std::string& app = "app",
                                        const std::string& function = "convert_v2") const {
    return "SELECT " + space() + "." + function + "(ARRAY['a'], ARRAY['" + mode +
           "']::\"char\"[], ARRAY[1], (SELECT last_value FROM " + space() +
           ".config_version), 60000000, 1, gen_random_uuid(), '" + app +
           "', 'raw', 0, 'raw', NULL, " + std::to_string(stamp.value) + ")";
  }
  std::string row_of_name() {
    return admin().text("SELECT last FROM " + space() + ".names WHERE name = 'a'");
  }
  // A copy of a function that REPEATABLE READ may call, which has no predicate locks.
  std::string without_predicate_locks(const std::string& function) {
    std::string body =
        admin().text("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = '" + function +
                     "_v2' AND pronamespace = '" + space() + "'::regnamespace");
    std::string copy = function + "_rr";
    body.replace(body.find(function + "_v2"), function.size() + 3, copy);
    body.replace(body.find("'serializable'"), 14, "'repeatable read'");
    admin().run(body);
    return copy;
  }
};

// SEM 10, 29: a renewal of the old hold under way is waited for, and the new one ends no sooner
TEST_P(Convert, ARenewalUnderWayIsWaitedFor) {
  Client c = client();
  const Stamp old = c.take({read("a")}, {.lease = 1min}).stamp;
  Session renewer;
  renewer.run("BEGIN");
  ASSERT_EQ(renewer
                .run("SELECT * FROM " + space() + ".renew_v2('app', ARRAY[" +
                     std::to_string(old.value) + "], ARRAY[300000000])")
                .size(),
            2);
  std::optional<Grant> grant;
  std::thread thread([&] { grant = c.try_take({write("a")}, {.lease = 1min, .replaces = old}); });
  EXPECT_TRUE(somebody_waits("convert_v2"));
  renewer.run("COMMIT");
  thread.join();
  ASSERT_TRUE(grant);
  EXPECT_GT(grant->lease, 2min) << "the renewal is forgotten";
  EXPECT_GT(c.renew(grant->stamp, 1min)->lease, 2min);
}

// SEM 9, 29: whoever ends the old hold first decides
TEST_P(Convert, ABreakUnderWayIsWaitedFor) {
  for (const bool broken : {true, false}) {
    SCOPED_TRACE(broken);
    Client c = client();
    const Stamp old = c.take({read("a")}).stamp;
    Session breaker;
    breaker.run("BEGIN");
    ASSERT_EQ(breaker.text("SELECT " + space() + ".break_v2(" + std::to_string(old.value) + ")"),
              "R");
    std::optional<Result<AcquireOutcome>> outcome;
    std::thread thread([&] { outcome = c.ask({write("a")}, {.replaces = old}); });
    EXPECT_TRUE(somebody_waits("convert_v2"));
    breaker.run(broken ? "COMMIT" : "ROLLBACK");
    thread.join();
    ASSERT_TRUE(outcome->ok()) << outcome->error().message;
    EXPECT_EQ(std::holds_alternative<Gone>(**outcome), broken) << test::describe(*outcome);
    EXPECT_EQ(count("locks"), broken ? 0 : 1);
    if (!broken) {
      EXPECT_TRUE(c.release(std::get<Grant>(**outcome).stamp));
    }
  }
}

// SEM 29: of two conversions of one hold, the second finds it ended
TEST_P(Convert, AnotherUnderWayIsWaitedFor) {
  Client c = client();
  const Stamp old = c.take({read("a")}).stamp;
  Session first;
  first.run(begin_sql());
  ASSERT_EQ(first.text(convert_sql(old, 'w')).front(), 'G');
  std::thread thread([&] { c.meet_gone({write("a")}, {.replaces = old}); });
  EXPECT_TRUE(somebody_waits("convert_v2"));
  first.run("COMMIT");
  thread.join();
  EXPECT_EQ(count("locks"), 1);
}

// SEM 14: the same request once more gets the same grant
TEST_P(Convert, ARepeatedRequestGetsTheSameGrant) {
  Client c = client();
  const test::Ask ask{.lease = 2min,
                      .token = Token::random(),
                      .replaces = c.take({read("a"), write("b")}, {.lease = 1min}).stamp};
  const Grant first = c.take({write("a"), write("b")}, ask);
  const Grant again = c.take({write("a"), write("b")}, ask);
  EXPECT_EQ(again.stamp, first.stamp);
  EXPECT_EQ(again.floors, first.floors);
  EXPECT_GT(again.lease, 1min);
  EXPECT_LE(again.lease, first.lease);
}

// SEM 4, 29: an acquire that waited behind it sees the write, and the other way round
TEST_P(Convert, AStaleStateBehindALockDecidesNothing) {
  Client c = client();
  c.set_permits("a", Mode::read, 10);
  Client other = client("other");
  const Stamp old = c.take({read("a")}).stamp;
  Session first;
  first.run(begin_sql());
  ASSERT_EQ(first.text(convert_sql(old, 'w')).front(), 'G');
  std::optional<Grant> grant;
  std::thread reader([&] { grant = other.try_take({read("a")}); });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  first.run("COMMIT");
  reader.join();
  EXPECT_FALSE(grant) << "a read beside a write";

  const Stamp writer = c.holds().at(0).stamp;
  const Stamp mine = c.take({read("a")}, {.replaces = writer}).stamp;
  std::string sql = acquire_sql("a");
  sql.replace(sql.find("ARRAY['w']"), 10, "ARRAY['r']");
  sql.replace(sql.find("ARRAY[1]"), 8, "ARRAY[9]");
  first.run(begin_sql());
  ASSERT_EQ(first.text(sql).front(), 'G');
  std::optional<Grant> upgraded;
  std::thread upgrader([&] { upgraded = c.try_take({write("a")}, {.replaces = mine}); });
  EXPECT_TRUE(somebody_waits("convert_v2"));
  first.run("COMMIT");
  upgrader.join();
  EXPECT_FALSE(upgraded) << "a write beside a read";
  EXPECT_TRUE(c.is_live(mine));
}

// SEM 4: strategy=serializable stays safe even if predicate locks fail: a conversion changes the
// rows of its names
TEST_P(Convert, TheRowsOfTheNamesDoWithoutPredicateLocks) {
  if (strategy() != "serializable") return;
  Client c = client();
  const Stamp old = c.take({write("a")}).stamp;
  const std::string convert = without_predicate_locks("convert");
  const std::string acquire = without_predicate_locks("acquire");
  Session first;
  first.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  ASSERT_EQ(first.text(convert_sql(old, 'r', "app", convert)).front(), 'G');
  std::atomic<bool> failed = false;
  std::thread thread([&] {
    Session second;
    second.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    try {
      second.run(acquire_sql("a", acquire));
    } catch (const pqxx::serialization_failure&) {
      failed = true;
    }
  });
  EXPECT_TRUE(somebody_waits(acquire));
  first.run("COMMIT");
  thread.join();
  EXPECT_TRUE(failed);
}

// The row of a name tells that it is free once the hold that took another's place has ended.
TEST_P(Convert, AConvertedHoldLeavesItsNameFree) {
  if (strategy() != "serializable") return;
  Client c = client();
  const Stamp old = c.take({read("a")}).stamp;
  const Stamp next = c.take({write("a")}, {.replaces = old}).stamp;
  EXPECT_EQ(row_of_name(), std::to_string(next.value));
  EXPECT_TRUE(c.release(next));
  EXPECT_EQ(row_of_name(), std::to_string(-next.value));
}

// SEM 7, 12: a conversion that is under way during a takeover of its application leaves no hold
TEST_P(Convert, OneUnderWayDoesNotSurviveAReclaim) {
  Client c = client();
  const Stamp old = c.take({read("a")}).stamp;
  const std::int64_t epoch = c.take({write("@app:app")}).stamp.value;
  Session session;
  session.run(begin_sql());
  ASSERT_EQ(session.text(convert_sql(old, 'w')).front(), 'G');
  std::thread thread([&] { EXPECT_EQ(c.backend().reclaim("app", epoch, soon()).value(), 1U); });
  EXPECT_TRUE(somebody_waits("reclaim_v2"));
  session.run("COMMIT");
  thread.join();
  EXPECT_EQ(c.holds().size(), 1U) << "but the hold on the application id";
}

TEST_P(Convert, AnotherIsolationLevelIsRefused) {
  const Stamp old = client().take({read("a")}).stamp;
  Session session;
  session.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
  try {
    session.run(convert_sql(old, 'w'));
    ADD_FAILURE() << "it was granted";
  } catch (const pqxx::sql_error& error) {
    EXPECT_EQ(error.sqlstate(), "LS002");
  }
}

// A space by a program that knew no conversions: `lockset init` brings them, to programs as well.
TEST_P(Convert, AnOlderSpaceGetsThemWithInit) {
  const std::string of = " FROM pg_proc p WHERE p.pronamespace = '" + space() + "'::regnamespace";
  admin().run("DROP FUNCTION " + space() + ".convert_v2");
  admin().run("DO $$ DECLARE f text; BEGIN FOR f IN SELECT pg_get_functiondef(p.oid)" + of +
              " AND proname = 'settle_v2' LOOP EXECUTE 'DROP FUNCTION " + space() +
              ".settle_v2'; EXECUTE replace(replace(f, ', _replaced bigint DEFAULT 0', ''), "
              "'_replaced', '0'); END LOOP; END $$");
  const Address program = runtime_user();
  admin().run("UPDATE " + space() + ".meta SET script = 'older'");
  Client c(open_backend(program.url(), soon()).value());
  const Stamp old = c.take({read("a")}).stamp;
  const Result<AcquireOutcome> refused = c.ask({write("a")}, {.replaces = old});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(refused.error().message, "lockset init")) << refused.error().message;
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_TRUE(c.is_live(old));
  const Stamp next = c.take({write("a")}, {.replaces = old}).stamp;
  EXPECT_TRUE(c.release(next));
  EXPECT_EQ(admin().number("SELECT count(*)" + of + " AND proname = 'settle_v2'"), 1);
}

LOCKSET_POSTGRESQL_SUITE(Convert);

}  // namespace
}  // namespace lockset::postgresql_tests
