// The functions themselves set how their statements are planned: sessions through a pooler have no
// settings of ours.
#include <fstream>
#include <string>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Plans : public PostgresqlTest {
 protected:
  // Whether this session's process has compiled a plan.
  static bool compiles(const Session& session) {
    std::ifstream maps("/proc/" + std::to_string(session.pid()) + "/maps");
    EXPECT_TRUE(maps);
    for (std::string line; std::getline(maps, line);) {
      if (line.find("llvmjit.so") != std::string::npos) return true;
    }
    return false;
  }
  // Like a session through a pooler, with the server's defaults.
  static void as_by_default(Session& session) {
    session.run("SET jit = on");
    // A plan that reads a table sequentially, where that is disabled, costs ten thousand million:
    // far more than this. Plans without a disabled step cost less.
    session.run("SET jit_above_cost = 100000");
  }
};

TEST_P(Plans, AreNotCompiled) {
  Client c = client();
  ASSERT_TRUE(c.release(c.take({write("a")}).stamp));  // the name exists now
  c.observe_one("a");
  const std::string s = space() + ".";
  Session session;
  as_by_default(session);
  for (int round = 0; round < 2; ++round) {
    session.run(begin_sql());
    ASSERT_EQ(session.text(acquire_sql("a")).front(), 'G');
    session.run("COMMIT");
    const std::string stamp = session.text("SELECT max(stamp) FROM " + s + "locks");
    // The busy path, including registering the waiter.
    session.run(begin_sql());
    ASSERT_EQ(session.text(acquire_sql("a")).front(), 'B');
    session.run("COMMIT");
    session.run("SELECT * FROM " + s + "renew_v2('raw', ARRAY[" + stamp + "]::int8[], " +
                "ARRAY[60000000]::int8[])");
    session.run("SELECT * FROM " + s + "load_config_v2()");
    session.run("SELECT * FROM " + s + "inspect_v2('a', '')");
    session.run("SELECT " + s + "resolve_v2(gen_random_uuid(), 'a')");
    session.run("SELECT * FROM " + s + "sweep_v2(0, '')");
    session.run("SELECT " + s + "reclaim_v2('nobody', 1)");
    session.run("SELECT * FROM " + s + "observe_v2(ARRAY['a'], (SELECT last_value FROM " + s +
                "config_version), 1)");
    session.run("SELECT " + s + "sweep_traces_v2(86400000000)");
    session.run("SELECT " + s + "end_wait_v2(1, false)");
    EXPECT_EQ(session.text("SELECT " + s + "release_v2(" + stamp + ", 'raw')"), "R");
  }
  EXPECT_FALSE(compiles(session));
}

LOCKSET_POSTGRESQL_SUITE(Plans);

}  // namespace
}  // namespace lockset::postgresql_tests
