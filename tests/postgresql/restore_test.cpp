// SEM 8: a backup of the space is put back under a running program.
#include "tests/postgresql/fixture.h"
#include "tests/support/child.h"

namespace lockset::postgresql_tests {
namespace {

class Restore : public PostgresqlTest {};

TEST_P(Restore, StampsGoOnAboveAllEverGranted) {
  const std::string file = (server().folder() / (space() + ".sql")).string();
  Client c = client();
  const Stamp kept = c.take({write("kept")}, {.lease = 5min}).stamp;
  ASSERT_EQ(test::Child({"/usr/bin/pg_dump", "--schema=" + space(), "--file=" + file,
                         "--dbname=" + server().admin_url()})
                .wait(),
            0);
  Stamp highest;
  for (int i = 0; i < 20; ++i) {
    highest = c.take({write("a")}).stamp;
    ASSERT_TRUE(c.release(highest));
  }
  const Stamp lost = c.take({write("lost")}).stamp;
  drop_space();
  ASSERT_EQ(test::Child({"/usr/bin/psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1",
                         "--output=/dev/null", "--file=" + file, server().admin_url()})
                .wait(),
            0);
  const Grant next = c.take({write("a")});
  EXPECT_GT(next.stamp, lost);
  EXPECT_TRUE(c.is_live(kept));
  EXPECT_FALSE(c.is_live(lost)) << "it came after the backup";
  c.meet_busy({write("kept")});
  EXPECT_GT(client("other").take({write("lost")}).stamp, next.stamp);
}

LOCKSET_POSTGRESQL_SUITE(Restore);

}  // namespace
}  // namespace lockset::postgresql_tests
