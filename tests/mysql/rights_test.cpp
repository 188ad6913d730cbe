// The user that programs run as: SELECT and EXECUTE on the database, and no more.
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Rights : public MysqlTest {};

TEST_P(Rights, AreEnoughForAllThatAProgramDoes) {
  const Address address = runtime_user();
  const std::shared_ptr<Backend> backend = open_backend(url(address), soon()).value();
  Client mine(backend, "app");
  EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
  const Token token = Token::random();
  const Stamp set = mine.take({write("a"), read("b")}, {.token = token}).stamp;
  EXPECT_EQ(mine.resolve(token)->stamp, set);
  EXPECT_TRUE(mine.renew(set, 1min));
  EXPECT_TRUE(mine.make_permanent(set));
  const Busy busy = mine.meet_busy({write("b")}, {.will_wait = true});
  EXPECT_TRUE(backend->await_change(*busy.ticket, BootClock::now() + 50ms, {}));
  backend->end_wait(*busy.ticket, soon());
  EXPECT_EQ(mine.holds().size(), 1U);
  EXPECT_TRUE(mine.break_hold(set));
  mine.set_permits("a", Mode::read, 3);
  mine.change(SetMigrationPhase{0, mine.config().version});
  const std::int64_t epoch = mine.take({write("@app:app")}).stamp.value;
  EXPECT_TRUE(backend->reclaim("app", epoch, soon()));
  EXPECT_TRUE(backend->sweep(soon()));
  const std::vector<Finding> findings = examine_space(url(address), soon()).value();
  EXPECT_FALSE(findings.empty());
}

TEST_P(Rights, ReachNoTablePastTheProcedures) {
  const Address address = runtime_user();
  Client holder = client();
  holder.take({write("a")});
  RawMysql user(url(address));
  for (const char* const rest : {"_locks", "_names", "_lock_permits", "_epochs", "_space"}) {
    const std::string name = table(rest);
    EXPECT_EQ(user.code_of("DELETE FROM " + name), 1142) << rest;
    EXPECT_EQ(user.code_of("INSERT INTO " + name + " VALUES ()"), 1142) << rest;
    EXPECT_EQ(user.code_of("DROP TABLE " + name), 1142) << rest;
    EXPECT_EQ(user.code_of("ALTER TABLE " + name + " COMMENT 'mine'"), 1142) << rest;
  }
  EXPECT_EQ(user.code_of("UPDATE " + table("_locks") + " SET expires = NULL"), 1142);
  // MariaDB lets readers lock rows, which delays others and changes nothing.
  if (!is_mariadb()) {
    EXPECT_EQ(user.code_of("SELECT low FROM " + table("_names") + " FOR UPDATE"), 1142);
  }
  EXPECT_NE(user.code_of("DROP PROCEDURE " + table("_release")), 0);
}

LOCKSET_MYSQL_STRATEGIES(Rights);

}  // namespace
}  // namespace lockset::mysql_tests
