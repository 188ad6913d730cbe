// SEM 27: the table of traces, against transactions that are under way.
#include <optional>
#include <thread>

#include "tests/mysql/fixture.h"

namespace lockset::mysql_tests {
namespace {

class Traces : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    copy_acquire_without_commit("_acquire_open");
  }
  std::int64_t traces() { return admin().number("SELECT COUNT(*) FROM " + table("_traces")); }
  // As if all that was observed and written had been so much earlier.
  void let_pass(std::chrono::hours time) {
    const std::string ago = " - " + std::to_string(std::chrono::microseconds(time).count());
    admin().rows("UPDATE " + table("_traces") + " SET observed = observed" + ago +
                 ", granted = granted" + ago);
  }
};

// Names that nobody observes cost nothing.
TEST_P(Traces, OnlyObservedNamesHaveOne) {
  Client c = client();
  c.take({write("a"), write("b")});
  EXPECT_EQ(traces(), 0);
  c.observe({"a", "c"});
  EXPECT_EQ(traces(), 2);
}

// SEM 27: a grant that is under way while a trace is read
TEST_P(Traces, AWriteUnderWayIsAChange) {
  Client c = client();
  const Trace first = c.observe_one("a");
  const auto writer = session();
  ASSERT_EQ(call_acquire(*writer, "_acquire_open", {write("a")}), "granted");
  // It waits for nobody.
  const Trace seen = c.observe_one("a");
  EXPECT_EQ(seen.last_write, first.last_write);
  EXPECT_FALSE(seen.being_written);
  writer->rows("COMMIT");
  const Trace then = c.observe_one("a");
  EXPECT_TRUE(then.being_written);
  EXPECT_GT(then.last_write, seen.last_write);
}

// SEM 27: a grant that is under way while the trace is made
TEST_P(Traces, AreMadeBehindGrantsUnderWay) {
  Client c = client();
  for (const bool commits : {true, false}) {
    const std::string name = commits ? "a" : "b";
    const auto writer = session();
    ASSERT_EQ(call_acquire(*writer, "_acquire_open", {write(name)}), "granted");
    std::optional<Trace> seen;
    std::jthread observer([&] { seen = c.observe_one(name); });
    EXPECT_TRUE(rows_are_waited_for());
    writer->rows(commits ? "COMMIT" : "ROLLBACK");
    observer.join();
    EXPECT_EQ(seen->being_written, commits);
  }
}

// SEM 27: nobody else asks for the name, and whoever waits for another of the set is woken
TEST_P(Traces, AnObservationRemovesWhatHasExpired) {
  Client c = client();
  c.observe_one("a");
  const Grant brief = c.take({write("a"), write("b")});
  Client waiter = client("waiter");
  const Busy busy = waiter.meet_busy({write("b")}, {.will_wait = true});
  admin().rows("UPDATE " + table("_locks") + " SET expires = 1 WHERE expires IS NOT NULL");
  const Trace seen = c.observe_one("a");
  EXPECT_FALSE(seen.being_written);
  EXPECT_EQ(seen.last_write, brief.stamp);
  EXPECT_EQ(admin().number("SELECT COUNT(*) FROM " + table("_locks")), 0);
  EXPECT_EQ(
      admin().number("SELECT COUNT(*) FROM " + table("_waiters") + " WHERE woken IS NOT NULL"), 1);
  waiter.backend().end_wait(*busy.ticket, soon());
}

// SEM 27: not before it went unobserved for 7 days
TEST_P(Traces, StayForDaysAfterTheyWereObserved) {
  Client c = client();
  c.observe_one("a");
  const Grant grant = c.take({write("a")});
  ASSERT_TRUE(c.release(grant.stamp));
  let_pass(24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  const Trace seen = c.observe_one("a");
  EXPECT_EQ(seen.last_write, grant.stamp);
  ASSERT_TRUE(seen.age_us);
  EXPECT_GE(*seen.age_us, std::chrono::microseconds(24h * 6).count());
  // From that observation on it counts anew.
  let_pass(24h * 6);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 0U);
  let_pass(24h);
  EXPECT_EQ(c.backend().sweep_traces(trace_lifetime, soon()).value(), 1U);
  EXPECT_EQ(traces(), 0);
  EXPECT_GT(c.observe_one("a").last_write, grant.stamp);
}

// A space with more of them than one call removes
TEST_P(Traces, AreSweptInParts) {
  Client c = client();
  std::string rows;
  for (int i = 1; i <= 700; ++i) {
    rows += (i > 1 ? ",('" : "('") + std::to_string(i) + "', 1, '', NULL, 1)";
  }
  admin().rows("INSERT INTO " + table("_traces") + " VALUES " + rows);
  c.observe_one("a");
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 500U);
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 200U);
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 0U);
  EXPECT_EQ(traces(), 1);
}

// What happened under the procedures of an older program left no traces, and what they have begun
// is stale.
TEST_P(Traces, AnUpgradeForgetsThem) {
  Client c = client();
  const Trace seen = c.observe_one("a");
  const std::int64_t before = c.config().version;
  admin().rows("UPDATE " + table("_space") + " SET schema_version = 2, procedures = 'older'");
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(traces(), 0);
  Client then = client();
  EXPECT_GT(then.config().version, before);
  EXPECT_GT(then.observe_one("a").last_write, seen.last_write);
  // Another init is none.
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(traces(), 1);
}

LOCKSET_MYSQL_STRATEGIES(Traces);

}  // namespace
}  // namespace lockset::mysql_tests
