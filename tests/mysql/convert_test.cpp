// SEM 29, 30: conversions that meet other transactions of the same hold and name.
#include <optional>
#include <thread>

#include "backends/mysql/call_text.h"
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Convert : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    const std::string name = strategy() == "unique-index" ? "_convert_key" : "_convert_rows";
    copy_procedure(name, "_convert_open", {{"COMMIT;\n  SELECT IF(", "SELECT IF("}});
    copy_procedure("_renew", "_renew_open", {{"COMMIT;\n  IF NOT", "IF NOT"}});
  }
  // Takes "a" as write in the place of this hold of "app", in a transaction that stays open.
  std::string upgrade_open(RawMysql& session, Stamp old) {
    mysql::CallText call(table("_convert_open"));
    call.number(session.number("SELECT config_version FROM " + table("_space"))).bytes("a").null();
    call.utf8("[[\"a\",1,1]]").number(1).number(1).number(60'000'000);
    call.bytes(mysql::bytes_of(Token::random())).bytes("app").bytes("raw").number(0).bytes("raw");
    call.number(0).number(60'000'000);
    call.number(0).number(unlimited_overtakes).null().null().number(old.value);
    return session.rows(call.str()).at(0).at(0).value();
  }
  std::int64_t rows() { return admin().number("SELECT COUNT(*) FROM " + table("_locks")); }
};

// SEM 10, 29: a renewal of the old hold under way is waited for, and the new one ends no sooner
TEST_P(Convert, ARenewalUnderWayIsWaitedFor) {
  Client c = client();
  const Stamp old = c.take({read("a")}, {.lease = 1min}).stamp;
  const auto renewer = session();
  ASSERT_EQ(renewer
                ->rows("CALL " + table("_renew_open") + "('app', '[[" + std::to_string(old.value) +
                       ",\"a\",300000000,0]]')")
                .size(),
            2U);
  std::optional<Grant> grant;
  std::thread thread([&] { grant = c.try_take({write("a")}, {.lease = 1min, .replaces = old}); });
  EXPECT_TRUE(rows_are_waited_for());
  renewer->rows("COMMIT");
  thread.join();
  ASSERT_TRUE(grant);
  EXPECT_GT(grant->lease, 2min) << "the renewal is forgotten";
  EXPECT_GT(c.renew(grant->stamp, 1min)->lease, 2min);
}

// SEM 9, 29: whoever ends the old hold first decides
TEST_P(Convert, AReleaseUnderWayIsWaitedFor) {
  for (const bool released : {true, false}) {
    SCOPED_TRACE(released);
    Client c = client();
    const Stamp old = c.take({read("a")}).stamp;
    const auto other = session();
    other->rows("START TRANSACTION");
    other->rows("DELETE FROM " + table("_locks") +
                " WHERE name = 'a' AND stamp = " + std::to_string(old.value));
    std::optional<Result<AcquireOutcome>> outcome;
    std::thread thread([&] { outcome.emplace(c.ask({write("a")}, {.replaces = old})); });
    EXPECT_TRUE(rows_are_waited_for());
    other->rows(released ? "COMMIT" : "ROLLBACK");
    thread.join();
    ASSERT_TRUE(outcome->ok()) << outcome->error().message;
    EXPECT_EQ(std::holds_alternative<Gone>(**outcome), released) << test::describe(*outcome);
    EXPECT_EQ(rows(), released ? 0 : 1);
    if (!released) {
      EXPECT_TRUE(c.release(std::get<Grant>(**outcome).stamp));
    }
  }
}

// SEM 29: of two conversions of one hold, the second finds it ended
TEST_P(Convert, AnotherUnderWayIsWaitedFor) {
  Client c = client();
  const Stamp old = c.take({read("a")}).stamp;
  const auto first = session();
  ASSERT_EQ(upgrade_open(*first, old), "granted");
  std::thread thread([&] { c.meet_gone({write("a")}, {.replaces = old}); });
  EXPECT_TRUE(rows_are_waited_for());
  first->rows("COMMIT");
  thread.join();
  EXPECT_EQ(rows(), 1);
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
TEST_P(Convert, WhoeverWaitsBehindItSeesIt) {
  Client c = client();
  c.set_permits("a", Mode::read, 10);
  Client other = client("other");
  const Stamp old = c.take({read("a")}).stamp;
  const auto first = session();
  ASSERT_EQ(upgrade_open(*first, old), "granted");
  std::optional<Grant> grant;
  std::thread reader([&] { grant = other.try_take({read("a")}); });
  EXPECT_TRUE(rows_are_waited_for());
  first->rows("COMMIT");
  reader.join();
  EXPECT_FALSE(grant) << "a read beside a write";

  const Stamp mine = c.take({read("a")}, {.replaces = c.holds().at(0).stamp}).stamp;
  const auto second = session();
  second->rows("START TRANSACTION");
  second->rows("SELECT low FROM " + table("_names") + " WHERE name = 'a' FOR UPDATE");
  second->rows("INSERT INTO " + table("_locks") +
               " (name, stamp, item, mode, items, app, epoch, created, expires) VALUES "
               "('a', NULL, 0, 0, 1, 'raw', 0, 0, " +
               now_us + " + 60000000)");
  std::optional<Grant> upgraded;
  std::thread upgrader([&] { upgraded = c.try_take({write("a")}, {.replaces = mine}); });
  EXPECT_TRUE(rows_are_waited_for());
  second->rows("COMMIT");
  upgrader.join();
  EXPECT_FALSE(upgraded) << "a write beside a read";
  EXPECT_TRUE(c.is_live(mine));
}

// No row of the old hold is left, and `low` hides no hold.
TEST_P(Convert, TheRowsAreThoseOfTheNewHold) {
  Client c = client();
  c.set_permits("b", Mode::read, 10);
  Client other = client("other");
  const Stamp beside = other.take({read("b")}).stamp;
  Stamp mine = c.take({write("a"), read("b"), write("c")}).stamp;
  mine = c.take({read("a"), read("b"), read("c")}, {.replaces = mine}).stamp;
  EXPECT_EQ(rows(), 4);
  EXPECT_TRUE(other.release(beside));
  mine = c.take({write("a"), write("b"), write("c")}, {.replaces = mine}).stamp;
  EXPECT_EQ(rows(), 3);
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_names") + " n JOIN " +
                           table("_locks") + " l ON l.name = n.name WHERE n.low > l.stamp"),
            0);
  other.meet_busy({read("b")});
  EXPECT_TRUE(c.release(mine));
  EXPECT_EQ(rows(), 0);
}

LOCKSET_MYSQL_STRATEGIES(Convert);

}  // namespace
}  // namespace lockset::mysql_tests
