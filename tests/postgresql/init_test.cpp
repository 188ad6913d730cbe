// lockset init: repeated, concurrent, printed, and under running programs.
#include <atomic>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Init : public PostgresqlTest {
 protected:
  // Everything that the space consists of, as the server has it.
  std::string catalogue() {
    const std::string of = "'" + space() + "'::regnamespace";
    return admin().text(
        "SELECT (SELECT string_agg(pg_get_functiondef(oid) || coalesce(proacl::text, ''), ' ' "
        "ORDER BY proname) FROM pg_proc WHERE pronamespace = " +
        of +
        ") || (SELECT string_agg(concat_ws(' ', c.relname, c.relkind, c.relpersistence, "
        "c.reloptions, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, "
        "a.attcollation), ' ' ORDER BY c.relname, a.attnum) FROM pg_class c JOIN pg_attribute a "
        "ON a.attrelid = c.oid AND a.attnum > 0 WHERE c.relnamespace = " +
        of +
        ") || (SELECT string_agg(pg_get_constraintdef(oid), ' ' ORDER BY conname) "
        "FROM pg_constraint WHERE connamespace = " +
        // (The number of a table that was made anew is another one.)
        of +
        ") || (SELECT string_agg(regexp_replace(m::text, '(/[0-9A-F]{8}/)[0-9]+', '\\1'), ' ') "
        "FROM " +
        space() + ".meta m)");
  }
};

TEST_P(Init, AgainDoesNoHarm) {
  Client c = client();
  const Stamp stamp = c.take({write("a")}).stamp;
  c.set_permits("b", Mode::read, 3);
  const std::string before = catalogue();
  ASSERT_TRUE(init_space(url(), soon()));
  // Even if the functions have to be made again.
  admin().run("UPDATE " + space() + ".meta SET script = ''");
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(catalogue(), before);
  EXPECT_TRUE(c.is_live(stamp));
  EXPECT_TRUE(c.release(stamp));
  c.reload();
  EXPECT_EQ(c.config().permits_of("b").read, 3U);
}

// A space by a program that did not know changes at a version: it serves everything else, and says
// what to do about that.
TEST_P(Init, BringsAnOlderSpaceUpToDate) {
  const std::string complete = catalogue();
  admin().run("DROP FUNCTION " + space() + ".change_config_at_v2");
  admin().run("UPDATE " + space() + ".meta SET script = 'older'");
  Client c = client();
  const Stamp stamp = c.take({write("a")}).stamp;
  c.set_permits("b", Mode::read, 3);
  c.change(SetMigrationPhase{17});
  const SpaceConfig there = c.config();
  const SetMigrationPhase change{18, there.version};
  const Result<SpaceConfig> refused = c.backend().change_config(change, soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(refused.error().message, "lockset init")) << refused.error().message;
  EXPECT_EQ(client().config(), there);
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(client().config(), there);
  c.change(change);
  EXPECT_EQ(c.config().migration_phase, 18);
  EXPECT_TRUE(c.release(stamp));
  c.change(SetMigrationPhase{0});
  c.set_permits("b", Mode::read, {});
  EXPECT_EQ(catalogue(), complete);
}

// A space by a program that did not know the bound on overtaking. Its functions have fewer
// parameters; such a program goes on after an upgrade, without a bound.
TEST_P(Init, BringsFunctionsWithFewerParametersUpToDate) {
  const std::string of = " FROM pg_proc p WHERE p.pronamespace = '" + space() + "'::regnamespace";
  admin().run("DO $$ DECLARE f text; BEGIN FOR f IN SELECT pg_get_functiondef(p.oid)" + of +
              " AND proname = 'acquire_v2' LOOP EXECUTE 'DROP FUNCTION " + space() +
              ".acquire_v2'; EXECUTE replace(f, ', _most bigint DEFAULT NULL::bigint, _unchanged "
              "bigint[] DEFAULT NULL::bigint[]', ''); END LOOP; END $$");
  const Address program = runtime_user();
  admin().run("UPDATE " + space() + ".meta SET script = 'older'");
  ASSERT_EQ(admin().number("SELECT pronargs" + of + " AND proname = 'acquire_v2'"), 15);
  const Result<AcquireOutcome> refused = client().ask({write("a")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(refused.error().message, "lockset init")) << refused.error().message;
  ASSERT_TRUE(init_space(url(), soon()));
  Client c(open_backend(program.url(), soon()).value());
  EXPECT_TRUE(c.release(c.take({write("a")}).stamp));
  Session older;
  older.run(begin_sql());
  EXPECT_EQ(older.text(acquire_sql("a")).substr(0, 1), "G");
  older.run("ROLLBACK");
  EXPECT_EQ(admin().number("SELECT count(*)" + of + " AND proname = 'acquire_v2'"), 1);
}

TEST_P(Init, ManyAtOnceAllSucceed) {
  drop_space();
  test::run_threads(6, [&](std::size_t) {
    const Status status = init_space(url(), soon());
    EXPECT_TRUE(status) << status.error().message;
  });
  EXPECT_TRUE(client().take({write("a")}).stamp);
}

TEST_P(Init, ThePrintedScriptMakesTheSameSpace) {
  const std::string made_by_init = catalogue();
  drop_space();
  admin().run(init_script(url()).value());
  EXPECT_EQ(catalogue(), made_by_init);
  EXPECT_TRUE(client().take({write("a")}).stamp);
  for (const Finding& each : examine_space(url(), soon()).value()) {
    if (each.subject == "space") {
      EXPECT_EQ(each.level, Finding::Level::good) << each.text;
    }
    EXPECT_NE(each.level, Finding::Level::unsafe) << each.subject << ": " << each.text;
  }
}

// Running programs notice nothing
TEST_P(Init, UnderProgramsThatWork) {
  std::atomic<bool> stop = false;
  std::atomic<int> grants = 0;
  test::run_threads(5, [&](std::size_t i) {
    if (i == 0) {
      const AtEnd end([&] { stop = true; });
      for (int n = 0; n < 5; ++n) {
        const int before = grants;
        EXPECT_TRUE(eventually([&] { return grants >= before + 10; })) << "no progress";
        Session().run("UPDATE " + space() + ".meta SET script = ''");
        const Status status = init_space(url(), soon());
        EXPECT_TRUE(status) << status.error().message;
      }
      return;
    }
    Client mine = client("app" + std::to_string(i));
    while (!stop) {
      const Grant grant =
          mine.take({write("n" + std::to_string(i)), read("r" + std::to_string(i))});
      ++grants;
      EXPECT_TRUE(mine.renew(grant.stamp, 2min));
      EXPECT_TRUE(mine.release(grant.stamp));
    }
  });
  EXPECT_EQ(count("locks"), 0);
}

LOCKSET_POSTGRESQL_SUITE(Init);

}  // namespace
}  // namespace lockset::postgresql_tests
