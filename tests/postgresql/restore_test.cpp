// SEM 8: a backup of the space is restored under a running program.
#include "tests/postgresql/fixture.h"
#include "tools/child.h"

namespace lockset::postgresql_tests {
namespace {

class Restore : public PostgresqlTest {};

// It is restored into new tables: nobody knows what was granted since.
TEST_P(Restore, StampsGoOnAboveAllEverGranted) {
  const std::string file = (server().folder() / (space() + ".sql")).string();
  Client c = client();
  c.change(SetMaxLease{5s});
  const Stamp kept = c.take({write("kept")}, {.lease = 5min}).stamp;
  ASSERT_EQ(tools::Child({"/usr/bin/pg_dump", "--schema=" + space(), "--file=" + file,
                          "--dbname=" + server().admin_url()})
                .wait(),
            0);
  Stamp highest;
  for (int i = 0; i < 20; ++i) {
    highest = c.take({write("a")}).stamp;
    ASSERT_TRUE(c.release(highest));
  }
  const Stamp lost = c.take({write("lost")}, {.lease = 5min}).stamp;
  const Stamp unheard = client("unheard").take({write("unheard")}).stamp;
  drop_space();
  ASSERT_EQ(tools::Child({"/usr/bin/psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1",
                          "--output=/dev/null", "--file=" + file, server().admin_url()})
                .wait(),
            0);
  const Result<AcquireOutcome> refused = c.ask({write("a")});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().message;
  EXPECT_FALSE(c.is_live(lost)) << "it came after the backup";
  EXPECT_TRUE(c.renew(lost, 5min)) << "and its holder lives";
  EXPECT_TRUE(eventually([&] { return !c.inspect().quarantine; }, 3 * test::patience));
  const Grant next = c.take({write("a")});
  EXPECT_GT(next.stamp, lost);
  EXPECT_GT(next.stamp, unheard);
  EXPECT_TRUE(c.is_live(kept));
  c.meet_busy({write("kept")});
  c.meet_busy({write("lost")});
  EXPECT_FALSE(c.is_live(unheard));
}

// SEM 7: the functions exist again before the rows do.
TEST_P(Restore, WithoutItsRowsASpaceGrantsNothing) {
  const std::string file = (server().folder() / (space() + ".sql")).string();
  Client c = client();
  c.change(SetPermits{"a", Mode::read, 2});
  c.take({read("a")});
  ASSERT_EQ(tools::Child({"/usr/bin/pg_dump", "--schema-only", "--schema=" + space(),
                          "--file=" + file, "--dbname=" + server().admin_url()})
                .wait(),
            0);
  drop_space();
  ASSERT_EQ(tools::Child({"/usr/bin/psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1",
                          "--output=/dev/null", "--file=" + file, server().admin_url()})
                .wait(),
            0);
  const auto expect_incomplete = [](const Error& error) {
    EXPECT_EQ(error.code, Errc::unavailable) << error.message;
    EXPECT_TRUE(says(error.message, "put back")) << error.message;
  };
  const Result<AcquireOutcome> acquired = c.ask({read("a")});
  ASSERT_FALSE(acquired) << "granted by a configuration that is not there";
  expect_incomplete(acquired.error());
  const Result<std::unique_ptr<Backend>> opened = open_backend(url(), soon());
  ASSERT_FALSE(opened);
  expect_incomplete(opened.error());
}

// SEM 7, 8: nothing that a client keeps from before a wipe (its configuration, prepared statements,
// the line of waiters, the listening connection) grants what the new space would not.
TEST_P(Restore, AWipedSpaceIsNotTakenForTheOldOne) {
  const std::shared_ptr<Backend> backend = open();
  Client c(backend);
  Client waiter(backend, "waiter");
  const Stamp before = c.take({write("a")}).stamp;
  Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  const std::int64_t version = c.config().version;
  drop_space();
  const Result<AcquireOutcome> missing = c.ask_once({write("a")});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::misconfigured) << missing.error().message;
  EXPECT_TRUE(says(missing.error().message, "lockset init")) << missing.error().message;
  ASSERT_TRUE(init_space(url(), soon()));

  const Result<AcquireOutcome> stale = c.ask_once({write("a")});
  ASSERT_TRUE(stale) << stale.error().message;
  EXPECT_TRUE(std::holds_alternative<Stale>(*stale)) << test::describe(stale);
  EXPECT_FALSE(c.renew(before, 2min)) << "a hold of the old space";
  EXPECT_FALSE(c.release(before));
  const Stamp stamp = c.take({write("a")}).stamp;
  EXPECT_GT(stamp, before);
  EXPECT_GT(c.config().version, version);
  // The waiter continues to wait, in the new line, and is woken.
  busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = busy.ticket});
  EXPECT_EQ(c.inspect().waiters.size(), 1U);
  ASSERT_TRUE(c.release(stamp));
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, soon(), {}));
  EXPECT_GT(waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp, stamp);
}

LOCKSET_POSTGRESQL_SUITE(Restore);

}  // namespace
}  // namespace lockset::postgresql_tests
