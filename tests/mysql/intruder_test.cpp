// A database user was there first, with rights to make things in the database, and an administrator
// runs init afterwards: nothing that the user made runs with the administrator's rights.
#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Intruder : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    victim_ = space() + "v";
    intruder_ = runtime_user();
    admin().rows(
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, ALTER, INDEX, REFERENCES, CREATE "
        "VIEW, "
        "SHOW VIEW, CREATE ROUTINE, ALTER ROUTINE, EXECUTE, TRIGGER, EVENT ON lockset.* TO " +
        intruder_.user + "@'%'");
    // Otherwise neither functions nor triggers can be made when there is a binary log.
    if (!is_mariadb()) set_global("log_bin_trust_function_creators", "1");
    theirs_ = std::make_unique<RawMysql>(url(intruder_));
    theirs_->rows("CREATE TABLE " + victim_ + "_loot (who VARCHAR(512))");
  }

  [[nodiscard]] const std::string& victim() const { return victim_; }
  [[nodiscard]] RawMysql& theirs() { return *theirs_; }
  [[nodiscard]] std::string victim_url() const {
    return server().admin_url() + "?space=" + victim_ + "&strategy=" + strategy();
  }
  // Runs with the rights of the account that reads it, and records which account that was.
  void make_trap() {
    theirs().rows(
        "CREATE FUNCTION " + victim_ +
        "_trap() RETURNS BIGINT MODIFIES SQL DATA SQL SECURITY INVOKER BEGIN INSERT INTO " +
        victim_ + "_loot VALUES (CURRENT_USER()); RETURN 2; END");
  }
  // init and the other commands refuse it with one line that names it, and no part of it has run.
  void is_refused(const std::string& named) {
    const Status made = init_space(victim_url(), soon());
    ASSERT_FALSE(made) << "init took it for its own";
    EXPECT_TRUE(says(checked(made.error(), Errc::misconfigured), named)) << made.error().message;
    EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + victim_ + "_loot"), 0)
        << "it ran with the rights of " << admin().value("SELECT who FROM " + victim_ + "_loot");
  }
  // Makes our own tables, with our own SQL.
  void make_tables_as_the_intruder() {
    ASSERT_TRUE(init_space(url({.user = intruder_.user,
                                .password = intruder_.password,
                                .parameters = "space=" + victim_ + "&strategy=" + strategy()}),
                           soon()));
  }

 private:
  std::string victim_;
  Address intruder_;
  std::unique_ptr<RawMysql> theirs_;
};

TEST_P(Intruder, AViewInTheSpacesPlace) {
  make_trap();
  theirs().rows("CREATE SQL SECURITY INVOKER VIEW " + victim() + "_space AS SELECT 1 AS id, " +
                victim() + "_trap() AS schema_version, 'x' AS procedures");
  is_refused(victim() + "_space");
  const std::string message = refused(victim_url(), Errc::misconfigured);
  EXPECT_TRUE(says(message, "is a view")) << message;
  EXPECT_TRUE(examine_space(victim_url(), soon()));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + victim() + "_loot"), 0);
}

TEST_P(Intruder, AViewInATablesPlace) {
  make_trap();
  theirs().rows("CREATE SQL SECURITY INVOKER VIEW " + victim() + "_names AS SELECT 'a' AS name, " +
                victim() + "_trap() AS low, 0 AS gen");
  is_refused(victim() + "_names");
}

TEST_P(Intruder, AViewPutThereLater) {
  make_tables_as_the_intruder();
  make_trap();
  theirs().rows("DROP TABLE " + victim() + "_lock_permits");
  theirs().rows("CREATE SQL SECURITY INVOKER VIEW " + victim() +
                "_lock_permits AS SELECT 'a' AS name, 0 AS mode, " + victim() +
                "_trap() AS permits");
  is_refused(victim() + "_lock_permits");
}

TEST_P(Intruder, ATableOfAnotherShape) {
  make_tables_as_the_intruder();
  theirs().rows("ALTER TABLE " + victim() + "_locks ADD COLUMN mine INT");
  is_refused("other columns");
  theirs().rows("ALTER TABLE " + victim() +
                "_locks DROP COLUMN mine, DROP PRIMARY KEY, "
                "ADD PRIMARY KEY (stamp, name), ADD KEY (name)");
  is_refused("other columns or keys");
}

TEST_P(Intruder, ATableWithoutTransactions) {
  make_tables_as_the_intruder();
  theirs().rows("ALTER TABLE " + victim() + "_names ENGINE=MyISAM");
  is_refused("InnoDB");
}

TEST_P(Intruder, ATriggerOnOurs) {
  make_tables_as_the_intruder();
  theirs().rows("CREATE TRIGGER " + victim() + "_t BEFORE INSERT ON " + victim() +
                "_locks FOR EACH ROW SET NEW.expires = 1");
  is_refused(victim() + "_t");
}

TEST_P(Intruder, AForeignKeyToOurs) {
  make_tables_as_the_intruder();
  theirs().rows("CREATE TABLE " + victim() +
                "_f (app VARBINARY(255) PRIMARY KEY, "
                "CONSTRAINT " +
                victim() + "_c FOREIGN KEY (app) REFERENCES " + victim() +
                "_epochs (app)) ENGINE=InnoDB");
  is_refused(victim() + "_c");
}

TEST_P(Intruder, AProcedureOfOurNameWhereThereIsNoSpace) {
  theirs().rows("CREATE PROCEDURE " + victim() + "_renew() SELECT 1");
  is_refused(victim() + "_renew");
}

// A complete space with all procedures, whose text is the intruder's: after init they belong to the
// administrator, and have our text.
TEST_P(Intruder, AWholeSpaceIsTakenOver) {
  make_tables_as_the_intruder();
  theirs().rows("DROP PROCEDURE " + victim() + "_definer");
  theirs().rows("CREATE PROCEDURE " + victim() + "_definer() SQL SECURITY INVOKER INSERT INTO " +
                victim() + "_loot VALUES (CURRENT_USER())");
  ASSERT_TRUE(init_space(victim_url(), soon()));
  EXPECT_EQ(
      admin().number("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = "
                     "DATABASE() AND routine_name LIKE '" +
                     victim() + "%' AND (definer <> CURRENT_USER() OR security_type <> 'DEFINER')"),
      0);
  EXPECT_TRUE(examine_space(victim_url(), soon()));
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + victim() + "_loot"), 0);
  Client mine(open_backend(victim_url(), soon()).value());
  EXPECT_TRUE(mine.release(mine.take({write("a"), write("b")}).stamp));
}

// ALTER ROUTINE is enough for that.
TEST_P(Intruder, AProcedureThatWasMadeToRunWithItsCallersRights) {
  ASSERT_TRUE(init_space(victim_url(), soon()));
  const std::string name = victim() + "_renew";
  admin().rows("ALTER PROCEDURE " + name + " SQL SECURITY INVOKER");
  ASSERT_TRUE(init_space(victim_url(), soon()));
  EXPECT_EQ(admin().value("SELECT security_type FROM information_schema.routines WHERE "
                          "routine_schema = DATABASE() AND routine_name = '" +
                          name + "'"),
            "DEFINER");
}

LOCKSET_MYSQL_SERVERS(Intruder);

}  // namespace
}  // namespace lockset::mysql_tests
