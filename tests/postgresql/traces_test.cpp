// SEM 27, 28: the table traces, against transactions that are under way.
#include <optional>
#include <thread>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Traces : public PostgresqlTest {
 protected:
  // As if all that was observed and written had been so much earlier.
  void let_pass(std::chrono::hours time) {
    const std::string ago = " - interval '" + std::to_string(time.count()) + " hours'";
    admin().run("UPDATE " + space() + ".traces SET observed = observed" + ago +
                ", granted = granted" + ago);
  }
  // The row of the name can be locked by acquires.
  void know(const std::string& name) {
    if (strategy() == "serializable") {
      admin().run("SELECT " + space() + ".know_v2(ARRAY['" + name + "'])");
    }
  }
  static bool same(const Trace& one, const Trace& other) {
    return one.last_write == other.last_write && !one.being_written && !other.being_written;
  }
};

// Names that nobody observes cost nothing.
TEST_P(Traces, OnlyObservedNamesHaveOne) {
  Client c = client();
  c.take({write("a"), write("b")});
  EXPECT_EQ(count("traces"), 0);
  c.observe({"a", "c"});
  EXPECT_EQ(count("traces"), 2);
}

// A grant does not even look for them where nobody observes.
TEST_P(Traces, AreNotLookedForWhereNobodyObserves) {
  know("a");
  const auto looks = [&] {
    Session session;
    session.run(begin_sql());
    EXPECT_EQ(session.text(acquire_sql("a")).front(), 'G');
    const std::int64_t scans = session.number(
        "SELECT coalesce(seq_scan, 0) + coalesce(idx_scan, 0) FROM pg_stat_xact_user_tables "
        "WHERE schemaname = '" +
        space() + "' AND relname = 'traces'");
    session.run("ROLLBACK");
    return scans;
  };
  EXPECT_EQ(looks(), 0);
  client().observe_one("b");
  EXPECT_GT(looks(), 0);
}

// An observation of a known name has nothing to commit, and waits for no disk.
TEST_P(Traces, ALookWritesNothing) {
  Client c = client();
  c.observe({"a", "b"});
  const auto next_transaction = [&] {
    return admin().number("SELECT txid_snapshot_xmax(txid_current_snapshot())");
  };
  // The server's own transactions, autovacuum's, come now and then.
  EXPECT_TRUE(eventually([&] {
    const std::int64_t before = next_transaction();
    c.observe({"a", "b"});
    return next_transaction() == before;
  }));
  const std::int64_t before = next_transaction();
  c.observe({"a", "new"});
  EXPECT_GT(next_transaction(), before);
}

// SEM 27: a grant that is under way while a trace is read
TEST_P(Traces, AWriteUnderWayIsAChange) {
  know("a");
  Client c = client();
  const Trace first = c.observe_one("a");
  Session writer;
  writer.run(begin_sql());
  ASSERT_EQ(writer.text(acquire_sql("a")).front(), 'G');
  // It waits for nobody.
  const Trace seen = c.observe_one("a");
  EXPECT_TRUE(same(seen, first));
  writer.run("COMMIT");
  const Trace then = c.observe_one("a");
  EXPECT_TRUE(then.being_written);
  EXPECT_GT(then.last_write, seen.last_write);
  EXPECT_EQ(then.label, "raw");
}

// SEM 27: a grant that is under way while the trace is made
TEST_P(Traces, AreMadeBehindGrantsUnderWay) {
  for (const bool commits : {true, false}) {
    const std::string name = commits ? "a" : "b";
    know(name);
    Client c = client();
    Session writer;
    writer.run(begin_sql());
    const std::string granted = writer.text(acquire_sql(name));
    ASSERT_EQ(granted.front(), 'G');
    std::optional<Trace> seen;
    {
      const AtEnd end([&] { writer.run(commits ? "COMMIT" : "ROLLBACK"); });
      std::jthread observer([&] { seen = c.observe_one(name); });
      EXPECT_TRUE(somebody_waits("observe_v2"));
      writer.run(commits ? "COMMIT" : "ROLLBACK");
      observer.join();
    }
    EXPECT_EQ(seen->being_written, commits);
    EXPECT_GT(seen->last_write.value, std::stoll(granted.substr(2)));
  }
}

// SEM 27: a transaction that began before the trace was made writes it, or fails
TEST_P(Traces, AreSeenByTransactionsThatBeganBefore) {
  know("a");
  Session writer;
  writer.run(begin_sql());
  writer.run("SELECT count(*) FROM " + space() + ".locks");  // what SERIALIZABLE sees from now on
  Client c = client();
  const Trace seen = c.observe_one("a");
  if (strategy() == "serializable") {
    EXPECT_THROW(writer.run(acquire_sql("a")), pqxx::serialization_failure);
    writer.run("ROLLBACK");
    EXPECT_TRUE(same(c.observe_one("a"), seen));
    return;
  }
  ASSERT_EQ(writer.text(acquire_sql("a")).front(), 'G');
  writer.run("COMMIT");
  EXPECT_GT(c.observe_one("a").last_write, seen.last_write);
}

// SEM 27: a renewal under way keeps an expired hold alive
TEST_P(Traces, ARenewalUnderWayIsWaitedFor) {
  Client c = client();
  c.observe_one("a");
  const Grant grant = c.take({write("a")}, {.lease = 2s});
  Session renewal;
  renewal.run("BEGIN");
  renewal.run("UPDATE " + space() + ".locks SET expires = expires + interval '1 hour'");
  ASSERT_TRUE(eventually([&] {
    return admin().text("SELECT expires < clock_timestamp() FROM " + space() + ".locks") == "t";
  }));
  std::optional<Trace> seen;
  {
    const AtEnd end([&] { renewal.run("COMMIT"); });
    std::jthread observer([&] { seen = c.observe_one("a"); });
    EXPECT_TRUE(somebody_waits("observe_v2"));
    renewal.run("COMMIT");
    observer.join();
  }
  EXPECT_TRUE(seen->being_written);
  EXPECT_TRUE(c.is_live(grant.stamp));
}

// SEM 27: nobody else asks for the name, and whoever waits for another of the set is woken
TEST_P(Traces, AnObservationRemovesWhatHasExpired) {
  Client c = client();
  c.observe_one("a");
  const Grant brief = c.take({write("a"), write("b")});
  Client waiter = client("waiter");
  const Busy busy = waiter.meet_busy({write("b")}, {.will_wait = true});
  admin().run("UPDATE " + space() + ".locks SET expires = now() WHERE expires IS NOT NULL");
  EXPECT_FALSE(c.observe_one("a").being_written);
  EXPECT_EQ(c.observe_one("a").last_write, brief.stamp);
  EXPECT_EQ(count("locks"), 0);
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() + ".waiters WHERE woken IS NOT NULL"),
            1);
  waiter.backend().end_wait(*busy.ticket, soon());
}

// SEM 27: not before it went unobserved for 7 days
TEST_P(Traces, StayForDaysAfterTheyWereObserved) {
  Client c = client();
  const Trace first = c.observe_one("a");
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
  EXPECT_EQ(count("traces"), 0);
  EXPECT_GT(c.observe_one("a").last_write, grant.stamp);
  EXPECT_NE(first.last_write, grant.stamp);
}

// A space with more of them than one call removes
TEST_P(Traces, AreSweptInParts) {
  Client c = client();
  admin().run("INSERT INTO " + space() +
              ".traces SELECT 1, NULL, now() - interval '1 day' * i, '', i::text "
              "FROM generate_series(1, 700) i");
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 500U);
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 101U);
  EXPECT_EQ(c.backend().sweep_traces(24h * 100, soon()).value(), 0U);
}

// A writer and a sweep at the same time: neither waits.
TEST_P(Traces, AreNotSweptWhileTheyAreWritten) {
  know("a");
  Client c = client();
  c.observe({"a", "b"});
  Session writer;
  writer.run(begin_sql());
  ASSERT_EQ(writer.text(acquire_sql("a")).front(), 'G');
  EXPECT_EQ(c.backend().sweep_traces(Duration::zero(), soon()).value(), 1U);
  writer.run("COMMIT");
  EXPECT_TRUE(c.observe_one("a").being_written);
  EXPECT_EQ(c.observe_one("a").label, "raw");
}

// A space of an older program: all but observing works, and that says what to do.
TEST_P(Traces, AnOlderSpaceGetsThem) {
  const std::string s = space() + ".";
  const Address program = runtime_user();
  const std::string rights_sql =
      "SELECT string_agg(proname || proacl::text, ' ' ORDER BY proname) "
      "FROM pg_proc WHERE pronamespace = '" +
      space() + "'::regnamespace";
  const std::string rights = admin().text(rights_sql);
  // Its functions knew nothing of the table and its sequence.
  admin().run(
      "DO $$ DECLARE f record; BEGIN FOR f IN SELECT proname, pg_get_functiondef(oid) AS def "
      "FROM pg_proc WHERE pronamespace = '" +
      space() +
      "'::regnamespace AND proname IN ('acquire_v2', 'settle_v2') LOOP EXECUTE 'DROP FUNCTION " +
      s + "' || f.proname; EXECUTE replace(replace(replace(f.def, " +
      "', _unchanged bigint[] DEFAULT NULL::bigint[]', ''), '_unchanged IS NOT NULL', 'false'), "
      "'pg_sequence_last_value(''\"" +
      space() + "\".never_observed''::regclass) IS NULL', 'false'); END LOOP; END $$");
  admin().run("GRANT EXECUTE ON FUNCTION " + s + "acquire_v2 TO " + program.user);
  for (const char* function : {"observe_v2", "sweep_traces_v2", "trace_v2", "changed_v2"}) {
    admin().run("DROP FUNCTION " + s + function);
  }
  admin().run("DROP TABLE " + s + "traces");
  admin().run("DROP SEQUENCE " + s + "never_observed");
  admin().run("UPDATE " + s + "meta SET script = 'older'");

  Client c(open_backend(program.url(), soon()).value());
  EXPECT_TRUE(c.release(c.take({write("a")}).stamp));
  Locks locks = lockset::open(program.url()).value();
  const Result<Observation> refused = locks.observe({"a"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(refused.error().message, "lockset init")) << refused.error().message;
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
  const std::int64_t before = c.config().version;
  ASSERT_TRUE(init_space(url(), soon()));
  EXPECT_EQ(admin().text(rights_sql), rights);
  // Whatever the older functions have begun before they were replaced is stale.
  c.reload();
  EXPECT_GT(c.config().version, before);
  const Observation seen = locks.observe({"a"}).value();
  EXPECT_TRUE(locks.validate(seen).value());
  EXPECT_TRUE(locks.acquire({write("a")}, {.unchanged_since = seen}).value().release());
  EXPECT_FALSE(locks.validate(seen).value());
}

LOCKSET_POSTGRESQL_SUITE(Traces);

}  // namespace
}  // namespace lockset::postgresql_tests
