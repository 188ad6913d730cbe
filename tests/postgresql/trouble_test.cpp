// SEM 4, 14: the server fails during a step: an error of the right kind, and no part of the set
// stays held.
#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Trouble : public PostgresqlTest {
 protected:
  // From now on the row of the name "b" makes the server fail with this code.
  void fail_at_b(const std::string& sqlstate) {
    admin().run("CREATE OR REPLACE FUNCTION " + space() +
                ".fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION USING "
                "ERRCODE = '" +
                sqlstate + "', MESSAGE = 'as the test has it'; END $$");
    admin().run("CREATE OR REPLACE TRIGGER fail AFTER INSERT ON " + space() +
                ".locks FOR EACH ROW WHEN (NEW.name = 'b') EXECUTE FUNCTION " + space() +
                ".fail()");
  }
};

TEST_P(Trouble, OfTheServersLeavesNothingHeld) {
  Client c = client();
  const test::Wanted set{write("a"), write("b"), read("c")};
  ASSERT_TRUE(c.release(c.take(set).stamp));
  const std::pair<const char*, const char*> troubles[] = {
      {"53100", "disk is full"}, {"53200", "out of memory"}, {"53000", "out of something"}};
  for (const auto& [sqlstate, words] : troubles) {
    fail_at_b(sqlstate);
    const Result<AcquireOutcome> outcome = c.ask_once(set);
    ASSERT_FALSE(outcome) << sqlstate;
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_TRUE(says(outcome.error().message, words)) << outcome.error().message;
    EXPECT_EQ(count("locks"), 0);
  }
  admin().run("DROP TRIGGER fail ON " + space() + ".locks");
  EXPECT_TRUE(c.release(c.take(set).stamp));
}

// Rights that are taken away while the program runs
TEST_P(Trouble, WithRightsLeavesNothingHeld) {
  const Address address = runtime_user();
  Client c(open_backend(address.url(), soon()).value());
  const Stamp stamp = c.take({write("kept")}).stamp;
  admin().run("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + space() + " FROM " + address.user);
  const auto denied = [](const Error& error) {
    EXPECT_EQ(error.code, Errc::misconfigured) << error.message;
    EXPECT_TRUE(says(error.message, "42501")) << error.message;
  };
  const Result<AcquireOutcome> outcome = c.ask_once({write("a"), write("b")});
  ASSERT_FALSE(outcome);
  denied(outcome.error());
  const Result<bool> released = c.backend().release(stamp, "app", soon());
  ASSERT_FALSE(released);
  denied(released.error());
  const auto changed = c.backend().change_config(SetPermits{"a", Mode::read, 2}, soon());
  ASSERT_FALSE(changed);
  denied(changed.error());
  EXPECT_EQ(count("locks"), 1);
  ASSERT_TRUE(allow(url(), Role::programs, address.user, soon()));
  EXPECT_TRUE(c.release(stamp));
}

LOCKSET_POSTGRESQL_SUITE(Trouble);

}  // namespace
}  // namespace lockset::postgresql_tests
