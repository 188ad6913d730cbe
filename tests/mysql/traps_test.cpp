// SEM 4, 10: traps in which the obvious statements grant twice. Next to ours, each test shows a
// wrong variant that does, so that the test can't become meaningless.
#include <algorithm>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <thread>

#include "backends/mysql/call_text.h"
#include "tests/mysql/fixture.h"
#include "tests/support/effort.h"

namespace lockset::mysql_tests {
namespace {

class Traps : public MysqlTest {
 protected:
  void SetUp() override {
    MysqlTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    copy_procedure("_renew", "_renew_open", {{"COMMIT;\n  IF NOT", "IF NOT"}});
    copy_acquire_without_commit("_acquire_open");
  }

  // Takes these, and renews them in a transaction that stays open, until the old lease has ended.
  Stamp take_and_renew(Client& holder, RawMysql& session, const Wanted& wanted) {
    const std::string& name = wanted.front().name;
    // On a machine that stalls, a short lease may end before it is renewed.
    for (Duration lease = 1s; lease < 10s; lease *= 2) {
      const Stamp stamp = holder.take(wanted, {.lease = lease}).stamp;
      const std::string hold =
          "[[" + std::to_string(stamp.value) + ",\"" + name + "\",60000000,0]]";
      // The renewed hold, and the row with the time.
      if (session.rows("CALL " + table("_renew_open") + "('app', '" + hold + "')").size() == 2U) {
        EXPECT_TRUE(eventually([&] { return live_writes(name) == 0; }));
        return stamp;
      }
      session.rows("ROLLBACK");
    }
    throw std::runtime_error("the leases ended before they were renewed");
  }

  // The answer to `other` for these names while the session's transaction is in the way, which then
  // ends with `end`.
  std::optional<Grant> granted_behind(RawMysql& session, const std::string& end, Client& other,
                                      const Wanted& wanted) {
    std::optional<Grant> grant;
    std::thread thread([&] { grant = other.try_take(wanted); });
    EXPECT_TRUE(rows_are_waited_for());
    session.rows(end);
    thread.join();
    return grant;
  }
};

// --- a renewal that is under way when the lease ends ---

// SEM 10: an acquire waits for it, and is told busy
TEST_P(Traps, ARenewalUnderWayIsWaitedFor) {
  Client holder = client();
  Client other = client("other");
  const auto renewer = session();
  const Stamp stamp = take_and_renew(holder, *renewer, {write("a")});
  EXPECT_FALSE(granted_behind(*renewer, "COMMIT", other, {write("a")}));
  EXPECT_TRUE(holder.is_live(stamp));
  EXPECT_EQ(live_writes("a"), 1);
}

// SEM 10: even if it wants another name of the set than the one with the lease
TEST_P(Traps, ARenewalOfASetUnderWayIsWaitedFor) {
  Client holder = client();
  Client other = client("other");
  const auto renewer = session();
  const Stamp stamp = take_and_renew(holder, *renewer, {write("a"), write("b"), write("c")});
  EXPECT_FALSE(granted_behind(*renewer, "COMMIT", other, {write("c"), write("d")}));
  EXPECT_TRUE(holder.is_live(stamp));
  EXPECT_EQ(live_writes("c"), 1);
}

// SEM 10: a renewal that is rolled back has no effect
TEST_P(Traps, ARenewalThatIsRolledBackIsNone) {
  Client holder = client();
  Client other = client("other");
  const auto renewer = session();
  const Stamp stamp = take_and_renew(holder, *renewer, {write("a")});
  EXPECT_TRUE(granted_behind(*renewer, "ROLLBACK", other, {write("a")}));
  EXPECT_FALSE(holder.renew(stamp, 1min)) << "revived";
}

// SEM 10: a renewal behind the removal of an expired hold
TEST_P(Traps, ARenewalWaitsForARemovalUnderWay) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}, {.lease = 20ms}).stamp;
  ASSERT_TRUE(eventually([&] { return live_writes("a") == 0; }));
  const auto acquirer = session();
  ASSERT_EQ(call_acquire(*acquirer, "_acquire_open", {write("a")}), "granted");
  std::optional<Renewal> renewal;
  std::thread thread([&] { renewal = holder.renew(stamp, 1min); });
  EXPECT_TRUE(rows_are_waited_for());
  acquirer->rows("COMMIT");
  thread.join();
  EXPECT_FALSE(renewal) << "revived";
  EXPECT_EQ(live_writes("a"), 1);
}

// SEM 10: the sweep waits as well, and removes nothing
TEST_P(Traps, ASweepWaitsForARenewalUnderWay) {
  Client holder = client();
  Client other = client("other");
  const auto renewer = session();
  const Stamp stamp = take_and_renew(holder, *renewer, {write("a")});
  std::size_t removed = 9;
  std::thread thread([&] { removed = other.backend().sweep(soon()).value(); });
  EXPECT_TRUE(rows_are_waited_for());
  renewer->rows("COMMIT");
  thread.join();
  EXPECT_EQ(removed, 0U);
  EXPECT_TRUE(holder.is_live(stamp));
}

// The wrong variant: admission filters by the expiry, under the lock on the name, and removes
// nothing.
TEST_P(Traps, ToFilterByTheExpiryGrantsTwice) {
  Client holder = client();
  const auto renewer = session();
  (void)take_and_renew(holder, *renewer, {write("a")});
  const auto bad = session();
  bad->rows("START TRANSACTION");
  bad->rows("SELECT low FROM " + table("_names") + " WHERE name = 'a' FOR UPDATE");
  ASSERT_EQ(bad->number("SELECT COUNT(*) FROM " + table("_locks") +
                        " WHERE name = 'a' AND expires > " + now_us),
            0)
      << "nothing would be granted";
  bad->rows("INSERT INTO " + table("_locks") +
            " (name, stamp, item, mode, items, app, epoch, created, expires) VALUES "
            "('a', NULL, 0, 1, 1, 'bad', 0, 0, " +
            now_us + " + 60000000)");
  bad->rows("COMMIT");
  renewer->rows("COMMIT");
  EXPECT_EQ(live_writes("a"), 2) << "the trap is real";
}

// --- a stale state behind a lock ---

// SEM 4: whatever the server's default isolation is
TEST_P(Traps, AStateFromBeforeTheLockDecidesNothing) {
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    admin().rows("SET GLOBAL TRANSACTION ISOLATION LEVEL " + isolation);
    Client second = client("second");
    const std::string a = "a " + isolation;
    const std::string b = "b " + isolation;
    for (const std::string& name : {a, b}) {
      ASSERT_TRUE(second.release(second.take({write(name)}).stamp));  // their rows exist now
    }
    const auto first = session();
    ASSERT_EQ(call_acquire(*first, "_acquire_open", {write(b)}), "granted");
    // It has looked at `a` before it has to wait for `b`.
    EXPECT_FALSE(granted_behind(*first, "COMMIT", second, {write(a), write(b)})) << isolation;
    EXPECT_EQ(live_writes(b), 1) << isolation;
    // A single name has its own statements.
    ASSERT_EQ(call_acquire(*first, "_acquire_open", {write(a)}), "granted");
    EXPECT_FALSE(granted_behind(*first, "COMMIT", second, {write(a)})) << isolation;
    EXPECT_EQ(live_writes(a), 1) << isolation;
  }
  admin().rows("SET GLOBAL TRANSACTION ISOLATION LEVEL REPEATABLE READ");
}

// SEM 4: nor does the session's level matter, in the procedure for one name
TEST_P(Traps, OneNameIsRightAtEveryLevelOfTheSession) {
  Client known = client();
  for (const std::string isolation : {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"}) {
    ASSERT_TRUE(known.release(known.take({write(isolation)}).stamp));
    const auto first = session();
    ASSERT_EQ(call_acquire(*first, "_acquire_open", {write(isolation)}), "granted");
    const auto second = session();
    second->rows("SET SESSION TRANSACTION ISOLATION LEVEL " + isolation);
    mysql::CallText call(table(acquire_name() + "_one"));
    call.number(second->number("SELECT config_version FROM " + table("_space")));
    call.bytes(isolation).number(1).number(1).number(60'000'000);
    call.bytes(mysql::bytes_of(Token::random())).bytes("raw").bytes("raw").number(0).bytes("raw");
    call.number(0).number(60'000'000);
    call.number(0).number(unlimited_overtakes).null().null();  // it will not wait
    std::string answer;
    std::thread thread([&] { answer = second->rows(call.str()).at(0).at(0).value(); });
    EXPECT_TRUE(rows_are_waited_for());
    first->rows("COMMIT");
    thread.join();
    EXPECT_EQ(answer, "busy") << isolation;
    EXPECT_EQ(live_writes(isolation), 1) << isolation;
  }
}

// The wrong variant: the same procedure in a REPEATABLE READ transaction
TEST_P(Traps, AStateFromBeforeTheLockGrantsTwice) {
  copy_procedure(acquire_name(), "_acquire_stale",
                 {{"ISOLATION LEVEL READ COMMITTED", "ISOLATION LEVEL REPEATABLE READ"}});
  Client known = client();
  for (const char* const name : {"a", "b"}) {
    ASSERT_TRUE(known.release(known.take({write(name)}).stamp));
  }
  const auto first = session();
  ASSERT_EQ(call_acquire(*first, "_acquire_open", {write("b")}), "granted");
  const auto second = session();
  // Newer versions of MariaDB would notice; not all servers do.
  (void)second->code_of("SET SESSION innodb_snapshot_isolation = OFF");
  std::string answer;
  std::thread thread([&] {
    answer = call_acquire(*second, "_acquire_stale", {write("a"), write("b")});
  });
  EXPECT_TRUE(rows_are_waited_for());
  first->rows("COMMIT");
  thread.join();
  EXPECT_EQ(answer, "granted");
  EXPECT_EQ(live_writes("b"), 2) << "the trap is real";
}

// --- a deleted slot that is used again ---

// The wrong variant: a row per slot, with a unique key that is to keep two clients from taking it.
// A client that looked long before takes the first slot that looked free.
TEST_P(Traps, ADeletedSlotThatIsUsedAgainGrantsTwice) {
  const std::string slots = table("_slots");
  admin().rows("CREATE TABLE " + slots +
               " (name VARBINARY(255), slot INT, mode INT, PRIMARY KEY (name, slot))");
  const auto writer = session();
  const std::string count = "SELECT COUNT(*) FROM " + slots + " WHERE name = 'a'";
  const auto take = [&](const std::string& slot, const std::string& mode) {
    return "INSERT INTO " + slots + " VALUES ('a', " + slot + ", " + mode + ")";
  };
  writer->rows("START TRANSACTION");
  ASSERT_EQ(writer->number(count), 0) << "a write may be granted, in slot 0";
  // Meanwhile two readers come, and the first of them ends.
  admin().rows(take("0", "0"));
  admin().rows(take("1", "0"));
  EXPECT_EQ(admin().code_of(take("0", "1")), 1062) << "so far the key keeps the writer out";
  admin().rows("DELETE FROM " + slots + " WHERE name = 'a' AND slot = 0");
  EXPECT_EQ(writer->code_of(take("0", "1")), 0);
  writer->rows("COMMIT");
  EXPECT_EQ(admin().number(count), 2) << "a write beside a read: the trap is real";
}

// SEM 4: the same events with our statements
TEST_P(Traps, AWriterIsNotAdmittedWhereAReaderHasGone) {
  Client readers = client("readers");
  readers.set_permits("a", Mode::read, 2);
  Client writer = client("writer");
  const Stamp first = readers.take({read("a")}).stamp;
  const Stamp second = readers.take({read("a")}).stamp;
  const auto third = session();
  ASSERT_TRUE(readers.release(first));
  // One permit for the raw session: with two, a second reader would do as well.
  ASSERT_EQ(call_acquire(*third, "_acquire_open", {write("b")}), "granted");
  EXPECT_FALSE(granted_behind(*third, "ROLLBACK", writer, {write("a"), write("b")}));
  EXPECT_TRUE(readers.is_live(second));
  EXPECT_EQ(live_writes("a"), 0);
}

// SEM 4: and under load, where the slots failed once in some thousand grants
TEST_P(Traps, ReadersAndWritersOfOneNameExcludeEachOther) {
  constexpr int read_permits = 3;
  const int enough = test::rounds(60, 1000);
  const std::shared_ptr<Backend> backend = open();
  Client(backend).set_permits("a", Mode::read, read_permits);
  std::atomic<int> readers = 0;
  std::atomic<int> writers = 0;
  std::atomic<int> violations = 0;
  std::atomic<int> granted_reads = 0;
  std::atomic<int> granted_writes = 0;
  test::Progress progress;
  test::run_threads(8, [&](std::size_t index) {
    Client mine(backend, "app" + std::to_string(index));
    const bool writes = index % 2 == 0;
    // Until both have happened often enough; they exclude each other.
    while ((granted_reads < enough || granted_writes < enough) && !progress.stuck()) {
      const auto grant = mine.try_take({writes ? write("a") : read("a")});
      if (!grant) {
        test::linger(500us);  // the refused leave the processor to the others
        continue;
      }
      progress.step();
      (writes ? granted_writes : granted_reads)++;
      const int seen_writers = writes ? ++writers : writers.load();
      const int seen_readers = writes ? readers.load() : ++readers;
      if (seen_writers + (seen_readers > 0 ? 1 : 0) > 1 || seen_readers > read_permits) {
        ++violations;
      }
      --(writes ? writers : readers);
      EXPECT_TRUE(mine.release(grant->stamp));
    }
  });
  EXPECT_EQ(violations, 0);
  EXPECT_GE(granted_reads, enough);
  EXPECT_GE(granted_writes, enough);
  RecordProperty("grants", granted_reads + granted_writes);
}

LOCKSET_MYSQL_STRATEGIES(Traps);

}  // namespace
}  // namespace lockset::mysql_tests
