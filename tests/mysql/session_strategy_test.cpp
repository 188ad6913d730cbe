// strategy=session: holds that are the server's own user-level locks (ADR 0066).
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "backends/mysql/session.h"
#include "backends/mysql/sql.h"
#include "tests/mysql/fixture.h"
#include "tests/support/holder_process.h"

namespace lockset::mysql_tests {
namespace {

using test::HolderProcess;

class SessionStrategy : public MysqlTest {
 protected:
  [[nodiscard]] std::string in_session(const std::string& column) {
    return admin().value("SELECT " + column + " FROM " + table("_session") + " WHERE id = 1");
  }
  // The name of the server's lock, for SQL.
  [[nodiscard]] std::string lock(const std::string& name) {
    const mysql::LockNames names("lockset/" + in_session("identity") + "/lockset/" + space());
    return "'" + mysql::LockNames::write(names.key(name)) + "'";
  }
  bool try_raw(const std::string& name) {
    return admin().number("SELECT GET_LOCK(" + lock(name) + ", 0)") == 1;
  }
  void unlock_raw(const std::string& name) {
    EXPECT_EQ(admin().number("SELECT RELEASE_LOCK(" + lock(name) + ")"), 1);
  }
  bool is_free(const std::string& name) {
    return admin().number("SELECT IS_FREE_LOCK(" + lock(name) + ")") == 1;
  }
  // Clients that wait for a name; their parked connections wait for another lock.
  std::int64_t waiters() {
    return admin().number(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'User lock' "
        "AND info LIKE '%GET_LOCK(''lockset:%'");
  }
  bool waited_for(int by) {
    return eventually([&] { return waiters() == by; });
  }
  // By KILL QUERY, as one who wakes a client: the statement in which some connection stands still
  // and that contains this text.
  void interrupt(const std::string& text) {
    std::optional<std::string> id;
    ASSERT_TRUE(eventually([&] {
      id = admin()
               .rows("SELECT MIN(id) FROM information_schema.processlist WHERE info LIKE '%" +
                     text + "%' AND id <> CONNECTION_ID()")
               .at(0)
               .at(0);
      return id.has_value();
    }));
    admin().rows("KILL QUERY " + *id);
  }
  // The numbers of the clients' main connections.
  std::vector<RawMysql::Row> mains() {
    return admin().rows("SELECT IS_USED_LOCK(CONCAT('lockset ', name)) FROM " +
                        table("_session_clients") + " ORDER BY name");
  }
  // How many grants of one name four threads of one client got, never two at a time.
  int grants_of_threads(const std::string& parameters) {
    const std::shared_ptr<Backend> shared = open(parameters);
    std::atomic<int> inside = 0;
    std::atomic<int> grants = 0;
    test::run_threads(4, [&](std::size_t i) {
      Client c(shared, "app" + std::to_string(i));
      for (int round = 0; round < 50; ++round) {
        const std::optional<Grant> grant = c.try_take({write("a")});
        if (!grant) continue;
        if (++inside > 1) ADD_FAILURE() << "two at a time";
        ++grants;
        --inside;
        if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
      }
    });
    EXPECT_TRUE(is_free("a"));
    return grants;
  }
};

// SEM 10: "If a store can tell for certain that the process ... has ended". The dead client may
// have been the one that all others rely on.
TEST_P(SessionStrategy, AKilledHoldersSetIsFreeAtOnce) {
  for (const bool it_kept : {true, false}) {
    std::optional<Locks> mine;
    if (!it_kept) mine = lockset::open(url(), {.app = "mine"}).value();
    HolderProcess holder(url(), 10min);
    if (it_kept) mine = lockset::open(url(), {.app = "mine"}).value();
    ASSERT_FALSE(mine->try_acquire({write("a")}).value());
    test::Stopwatch since_kill;
    holder.kill(SIGKILL);
    const Result<Hold> next = mine->acquire({write("a")}, {.wait = 30s});
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_LT(since_kill.elapsed(), 1s);
  }
}

// SEM 10, 20: a client that stands still: its validity ends before the server gives its lock away
TEST_P(SessionStrategy, AStoppedHolderStopsBelievingFirst) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  HolderProcess holder(url(), 2s);
  ASSERT_TRUE(holder.valid());
  const TimePoint stopped = BootClock::now();
  holder.kill(SIGSTOP);
  const Result<Hold> next = mine.acquire({write("a")}, {.wait = 1min});
  ASSERT_TRUE(next) << next.error().message;
  // Its last renewal was at most a third of the lease before, and a busy machine's delay.
  EXPECT_GE(BootClock::now() - stopped, 1s);
  EXPECT_LT(BootClock::now() - stopped, 20s);
  holder.kill(SIGCONT);
  EXPECT_FALSE(holder.valid());
  EXPECT_TRUE(next->valid());
}

// SEM 8, 10: an administrator ends the session: the holder learns of it at once, not at a renewal
TEST_P(SessionStrategy, AnEndedSessionIsNoticedAtOnce) {
  Locks mine = lockset::open(url(), {.app = "mine", .lease = 10min}).value();
  Locks other = lockset::open(url(), {.app = "other"}).value();
  const Hold hold = mine.acquire({write("a")}).value();
  const std::stop_token lost = hold.lost();
  const TimePoint ended = BootClock::now();
  admin().rows("KILL CONNECTION IS_USED_LOCK(" + lock("a") + ")");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_LT(BootClock::now() - ended, 5s);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
  const Hold next = other.acquire({write("a")}, {.wait = 30s}).value();
  EXPECT_GT(next.stamp(), hold.stamp());
}

// SEM 15: the server would grant a lock again to a session that has it
TEST_P(SessionStrategy, ThreadsOfOneClientExcludeEachOther) {
  EXPECT_GT(grants_of_threads("pool=3"), 25);
}

// The same where all of them have to use one session, one after the other
TEST_P(SessionStrategy, ThreadsInOneSessionExcludeEachOther) {
  EXPECT_GT(grants_of_threads("pool=1"), 0);
}

// SEM 4: the readers of one client share a lock; the writer comes when the last one has gone
TEST_P(SessionStrategy, ManyReadersOfOneClientShareItsSessions) {
  Client c = client();
  c.set_permits("a", Mode::read, max_permits);
  std::vector<Stamp> readers;
  for (int i = 0; i < 40; ++i) readers.push_back(c.take({read("a")}).stamp);
  Client other = client("other");
  EXPECT_TRUE(other.release(other.take({read("a")}).stamp));
  for (const Stamp reader : readers) {
    c.meet_busy({write("a")});
    other.meet_busy({write("a")});
    EXPECT_TRUE(c.release(reader));
  }
  EXPECT_TRUE(other.release(other.take({write("a")}).stamp));
}

// SEM 4: more readers than the space had room for. Whoever has taken a write lock before there were
// any looks at all of them from now on
TEST_P(SessionStrategy, RoomForReadersGrows) {
  Client writer = client("writer");
  writer.set_permits("*", Mode::read, max_permits);
  EXPECT_TRUE(writer.release(writer.take({write("a")}).stamp));
  std::vector<Client> clients;
  std::vector<Stamp> readers;
  for (int i = 0; i < 9; ++i) {
    clients.push_back(client("reader" + std::to_string(i)));
    readers.push_back(clients.back().take({read("a"), read("b")}).stamp);
    writer.meet_busy({write("a")});
    writer.meet_busy({write("b"), write("c")});
  }
  EXPECT_GE(std::stoi(in_session("readers")), 9);
  // The last one to go is the one with the highest number.
  for (std::size_t i = 0; i < readers.size(); ++i) {
    writer.meet_busy({write("a")});
    EXPECT_TRUE(clients[i].release(readers[i]));
  }
  EXPECT_TRUE(writer.release(writer.take({write("a"), write("b"), write("c")}).stamp));
}

// SEM 13: a writer that waits comes before readers that ask later; then they come, together
TEST_P(SessionStrategy, AWaitingWriterIsNotStarvedByReaders) {
  Client first = client("first");
  first.set_permits("a", Mode::read, max_permits);
  const Stamp reader = first.take({read("a")}).stamp;
  Locks writes = lockset::open(url(), {.app = "writer"}).value();
  Locks reads = lockset::open(url(), {.app = "reader"}).value();
  std::atomic<int> order = 0;
  std::jthread writer([&] {
    Result<Hold> hold = writes.acquire({write("a")}, {.wait = 1min});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_EQ(++order, 1);
  });
  ASSERT_TRUE(waited_for(1));
  std::vector<std::jthread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      const Result<Hold> hold = reads.acquire({read("a")}, {.wait = 1min});
      ASSERT_TRUE(hold) << hold.error().message;
      EXPECT_GT(++order, 1);
      // Both of them hold it at the same time.
      EXPECT_TRUE(eventually([&] { return order == 3; }));
    });
  }
  ASSERT_TRUE(waited_for(3));
  EXPECT_TRUE(first.release(reader));
}

// Names that share a key wait for each other, and for anybody else who uses it
TEST_P(SessionStrategy, AnothersLockOfTheSameKeyIsWaitedFor) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  ASSERT_TRUE(try_raw("a"));
  EXPECT_FALSE(mine.try_acquire({write("a")}).value());
  std::jthread later([&] {
    EXPECT_TRUE(waited_for(1));
    unlock_raw("a");
  });
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = 30s}));
}

// SEM 5, 13: nothing of a set is held by who did not get it, and by who waits for it
TEST_P(SessionStrategy, NothingOfASetIsHeldMeanwhile) {
  Client c = client();
  for (const char* taken : {"a", "b", "c"}) {
    ASSERT_TRUE(try_raw(taken));
    c.meet_busy({write("a"), write("b"), write("c")});
    for (const char* name : {"a", "b", "c"}) {
      if (std::string(name) == taken) continue;
      EXPECT_TRUE(is_free(name)) << name << " is held, and " << taken << " is in the way";
    }
    unlock_raw(taken);
  }
  ASSERT_TRUE(try_raw("b"));
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  std::atomic<bool> granted = false;
  std::jthread waits([&] {
    const Result<Hold> hold = waiter.acquire({write("a"), write("b")}, {.wait = 30s});
    granted = hold.ok();
  });
  ASSERT_TRUE(waited_for(1));
  EXPECT_TRUE(try_raw("a"));
  unlock_raw("b");
  // It has "b" and finds "a" taken: it gives "b" back, and waits for "a".
  EXPECT_TRUE(eventually([&] { return is_free("b") && waiters() == 1; }));
  EXPECT_FALSE(granted);
  unlock_raw("a");
  EXPECT_TRUE(eventually([&] { return granted.load(); }));
}

// A waiter that gives up leaves the server's queue at once
TEST_P(SessionStrategy, AWaiterThatGivesUpLeavesTheQueue) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  const auto late = waiter.acquire({write("a")}, {.wait = 300ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_EQ(waiters(), 0);
  EXPECT_TRUE(holder.release(stamp));
  EXPECT_TRUE(is_free("a"));
}

// SEM 17: the client of a broken hold ends it; if it stands still, its session is ended
TEST_P(SessionStrategy, AStoppedHoldersHoldCanBeBroken) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  HolderProcess holder(url(), 10min);
  // Holds that last are listed.
  ASSERT_TRUE(eventually(
      [&] { return admin().number("SELECT COUNT(*) FROM " + table("_session_holds")) == 1; }));
  holder.kill(SIGSTOP);
  const auto holds = mine.inspect().value().holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].owner.app, "child");
  EXPECT_TRUE(mine.break_hold(holds[0].stamp));
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = 10s}));
  holder.kill(SIGCONT);
  EXPECT_TRUE(eventually([&] { return !holder.valid(); }));
}

// SEM 17: a wake-up may come while a client is writing its answer, in the middle of a transaction
TEST_P(SessionStrategy, AnInterruptedAnswerIsGivenAllTheSame) {
  Client c = client();
  const auto blocker = session();
  blocker->rows("BEGIN");
  blocker->rows("SELECT * FROM " + table("_session_clients") + " FOR UPDATE");
  const auto before = mains();
  test::Ask ask;
  ask.lease = 10min;
  const Stamp stamp = c.take({write("a")}, ask).stamp;  // it lasts, so it is listed
  interrupt("_session_clients SET answered");
  blocker->rows("COMMIT");
  EXPECT_TRUE(eventually(
      [&] { return admin().number("SELECT COUNT(*) FROM " + table("_session_holds")) == 1; }));
  EXPECT_EQ(mains(), before);
  EXPECT_TRUE(c.release(stamp));
}

// SEM 8: the same while it becomes the keeper
TEST_P(SessionStrategy, AnInterruptedKeeperSettlesAllTheSame) {
  Client c = client();
  const auto before = mains();
  const auto blocker = session();
  blocker->rows("BEGIN");
  blocker->rows("SELECT * FROM " + table("_space") + " FOR UPDATE");
  admin().rows("UPDATE " + table("_session") + " SET token = ''");  // as a change does
  std::jthread taking([&] { EXPECT_TRUE(c.release(c.take({write("a")}).stamp)); });
  interrupt("stamp_base");
  blocker->rows("COMMIT");
  taking.join();
  EXPECT_EQ(mains(), before);
  // Nothing is left locked.
  EXPECT_EQ(admin().code_of("SELECT * FROM " + table("_session") + " FOR UPDATE NOWAIT"), 0);
}

// SEM 24: the same while it opens
TEST_P(SessionStrategy, AnInterruptedNewcomerOpensAllTheSame) {
  const auto blocker = session();
  blocker->rows("BEGIN");
  blocker->rows("SELECT * FROM " + table("_session") + " FOR UPDATE");
  std::jthread opening([&] {
    const auto opened = open_backend(url(), soon());
    EXPECT_TRUE(opened) << opened.error().message;
  });
  interrupt("FROM " + table("_session") + " WHERE id = 1 FOR UPDATE");
  blocker->rows("COMMIT");
}

// SEM 7: a change is obeyed by all when it is done, also if the client that keeps what all rely on
// stands still
TEST_P(SessionStrategy, AChangeIsObeyedAlthoughTheKeeperStandsStill) {
  HolderProcess keeper(url(), 10min, {write("x")});
  Client c = client();
  EXPECT_TRUE(c.release(c.take({read("a")}).stamp));  // it has loaded what the keeper keeps
  const std::string before = in_session("token");
  keeper.kill(SIGSTOP);
  c.set_permits("a", Mode::read, max_permits);
  EXPECT_NE(in_session("token"), before);
  EXPECT_EQ(admin().number("SELECT IS_FREE_LOCK('lockset " + before + "')"), 1);
  keeper.kill(SIGCONT);
  EXPECT_TRUE(keeper.valid());  // only its main connection was ended
  Client other = client("other");
  const Stamp one = c.take({read("a")}).stamp;
  EXPECT_TRUE(other.release(other.take({read("a")}).stamp));
  EXPECT_TRUE(c.release(one));
}

// SEM 8: another client becomes the keeper, and stamps go on upwards
TEST_P(SessionStrategy, StampsGrowFromKeeperToKeeper) {
  Stamp last;
  for (int i = 0; i < 5; ++i) {
    Client c = client();
    for (int n = 0; n < 3; ++n) {
      const Stamp next = c.take({write("a")}).stamp;
      EXPECT_GT(next, last);
      last = next;
      ASSERT_TRUE(c.release(next));
    }
  }
}

// SEM 8: beyond what is on the disk no stamp is given before more is
TEST_P(SessionStrategy, StampsStayBelowWhatIsOnTheDisk) {
  Client c = client();
  EXPECT_TRUE(c.release(c.take({write("a")}).stamp));
  // Others draw from the server's counter.
  admin().rows("SELECT BENCHMARK(" + std::to_string(mysql::stamp_window) + ", UUID_SHORT())");
  const Stamp next = c.take({write("a")}).stamp;
  EXPECT_GE(std::stoll(in_session("stamp_floor")), next.value);
  EXPECT_TRUE(c.release(next));
}

// SEM 8: a server whose counter begins lower again, as after a failover to one that was started
// earlier, or with a calendar that was set back
TEST_P(SessionStrategy, StampsGrowThoughTheServersCounterIsBehind) {
  Stamp last;
  {
    Client c = client();
    last = c.take({write("a")}).stamp;
  }
  // Its keeper has ended.
  ASSERT_TRUE(eventually([&] {
    return admin().number("SELECT IS_FREE_LOCK('lockset " + in_session("token") + "')") == 1;
  }));
  const std::int64_t hour = 3'600'000'000;
  admin().rows("UPDATE " + table("_session") + " SET stamp_floor = stamp_floor + " +
               std::to_string(hour) + ", stamp_offset = stamp_offset - " + std::to_string(hour));
  Client c = client();
  EXPECT_GT(c.take({write("a")}).stamp.value, last.value + hour);
}

// SEM 8: a crash of the server
TEST_P(SessionStrategy, StampsGrowOverACrash) {
  test::PrivateServer own(GetParam().kind);
  const std::string there = own.admin_url() + "?space=crash&strategy=session";
  init_space(there, soon()).value();
  Stamp last;
  {
    Client c(open_backend(there, soon()).value());
    for (int i = 0; i < 200; ++i) {
      last = c.take({write("a")}).stamp;
      ASSERT_TRUE(c.release(last));
    }
  }
  own.kill();
  own.start();
  Client c(open_backend(there, soon()).value());
  EXPECT_GT(c.take({write("a")}).stamp, last);
}

// SEM 20: a server that was demoted grants nothing and confirms no renewal
TEST_P(SessionStrategy, ADemotedServerGrantsNothing) {
  Client c = client();
  const Stamp held = c.take({write("a")}).stamp;
  set_global("read_only", "1");
  const auto refused_now = [&](const auto& result) {
    return !result && result.error().code == Errc::unavailable &&
           says(result.error().message, "read-only");
  };
  EXPECT_TRUE(refused_now(c.ask_once({write("b")})));
  EXPECT_TRUE(refused_now(c.ask_once({write("b"), write("c")})));
  const RenewRequest request{held, 5min};
  EXPECT_TRUE(refused_now(c.backend().renew(c.owner(), {&request, 1}, soon())));
  EXPECT_TRUE(is_free("b"));
  admin().rows("SET GLOBAL read_only = 0");
  EXPECT_TRUE(c.renew(held, 5min));
  EXPECT_TRUE(c.release(held));
}

// SEM 18: a child that ends takes nothing from its parent
TEST_P(SessionStrategy, AChildsEndEndsNoHoldOfItsParent) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  Hold hold = mine.acquire({write("a")}).value();
  const pid_t child = ::fork();
  if (child == 0) {
    Hold copy = std::move(hold);
    ::_exit(copy.valid() ? 1 : 0);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.renew());
  EXPECT_FALSE(is_free("a"));
  EXPECT_TRUE(hold.release());
}

TEST_P(SessionStrategy, WhatItCantKeepIsRefused) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  const auto code = [](const auto& result) {
    return result ? Errc::internal : result.error().code;
  };
  EXPECT_EQ(code(mine.set_permits("a", Mode::write, 2)), Errc::unsupported);
  EXPECT_EQ(code(mine.set_permits("a", Mode::read, 2)), Errc::unsupported);
  EXPECT_TRUE(mine.set_permits("a", Mode::read, max_permits));
  EXPECT_TRUE(mine.set_permits("a", Mode::read, 1));
  EXPECT_EQ(code(lockset::open(url(), {.app = "mine", .reclaim = true})), Errc::unsupported);
  EXPECT_EQ(code(mine.acquire({write("a")}, {.lease = no_lease})), Errc::unsupported);
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(code(std::move(hold).detach()), Errc::unsupported);
  Client c = client();
  EXPECT_EQ(code(c.backend().change_config(SetMigrationPhase{1}, soon())), Errc::unsupported);
  EXPECT_EQ(code(c.backend().change_config(SetMaxOvertakes{3}, soon())), Errc::unsupported);
}

// Neither kind of space is opened, or made over, as the other one
TEST_P(SessionStrategy, ASpaceIsOfOneKind) {
  const std::string plain = server().admin_url() + "?space=" + space();
  EXPECT_TRUE(says(refused(plain, Errc::misconfigured), "strategy=session"));
  EXPECT_TRUE(
      says(checked(init_space(plain, soon()).error(), Errc::misconfigured), "strategy=session"));
  const std::string other = server().admin_url() + "?space=p" + space().substr(1);
  init_space(other, soon()).value();
  const std::string wrong = other + "&strategy=session";
  EXPECT_TRUE(says(refused(wrong, Errc::misconfigured), "without strategy=session"));
  EXPECT_TRUE(says(checked(init_space(wrong, soon()).error(), Errc::misconfigured),
                   "without strategy=session"));
  EXPECT_TRUE(open_backend(other, soon()));
  EXPECT_TRUE(init_space(url(), soon()));  // again
  EXPECT_TRUE(open_backend(url(), soon()));
}

// A program's user needs no more than `lockset init --program` gives
TEST_P(SessionStrategy, AProgramsRightsSuffice) {
  const Address program = runtime_user();
  Client c(open_backend(url(program), soon()).value());
  const Grant grant = c.take({write("a"), write("b")});
  EXPECT_TRUE(c.is_live(grant.stamp));
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
  EXPECT_EQ(c.holds().size(), 1U);
  const Result<bool> broken = c.backend().break_hold(grant.stamp, soon());
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().code, Errc::misconfigured);
  EXPECT_TRUE(says(broken.error().message, "--operator")) << broken.error().message;
  // An operator of another account breaks it, and changes what the program's client keeps.
  Client ops(open_backend(url(runtime_user("open-sesame", {}, Role::operators)), soon()).value());
  EXPECT_TRUE(ops.backend().break_hold(grant.stamp, soon()).value());
  ops.set_permits("a", Mode::read, max_permits);
  EXPECT_TRUE(c.release(c.take({read("a")}).stamp));
}

// What a doctor says of the strategy, to a program's user
TEST_P(SessionStrategy, ADoctorLooksAtWhatSessionsNeed) {
  std::string rights;
  std::string sessions;
  for (const Finding& each : examine_space(url(runtime_user()), soon()).value()) {
    if (each.subject == "rights") rights += each.level == Finding::Level::good ? 'g' : 'w';
    if (each.subject == "sessions") sessions += each.level == Finding::Level::good ? 'g' : 'w';
  }
  EXPECT_EQ(rights, "g");
  EXPECT_EQ(sessions, "g");
}

// One who wants "a" and "b", and is beaten to one of them again and again, by a test that takes
// each name when the waiter waits for the other one.
class Starving : public SessionStrategy {
 protected:
  void SetUp() override {
    SessionStrategy::SetUp();
    ASSERT_TRUE(try_raw("b"));
  }
  // Until the waiter has the places of both. They last for a second, so on a busy machine they may
  // have ended already.
  void starve() {
    const char* held = "b";
    const char* free = "a";
    int beats = 0;
    for (; beats < 100; ++beats) {
      const TimePoint now = BootClock::now();
      if (has_places()) break;
      not_yet_ = now;
      ASSERT_TRUE(waits_for(held));
      ASSERT_TRUE(eventually([&] { return try_raw(free); })) << free << " is held meanwhile";
      unlock_raw(held);
      std::swap(held, free);
    }
    ASSERT_LT(beats, 100) << "beaten, and never let pass";
    ASSERT_TRUE(waits_for(held));
    held_ = held;
    free_ = free;
  }
  // What happened since starve() happened before the places could end by themselves.
  [[nodiscard]] bool in_time() const { return BootClock::now() - not_yet_ < 1s; }
  bool waits_for(const std::string& name) {
    return eventually([&] { return waiting("GET_LOCK(" + lock(name) + ",") > 0; });
  }
  bool has_places() { return used(place("a")) || used(place("b")); }
  // False: it passed, for the places were not taken yet, or had ended.
  bool waits_for_place(const std::string& name, const std::atomic<bool>& passed) {
    bool behind = false;
    EXPECT_TRUE(eventually([&] {
      behind = waiting("GET_LOCK(" + place(name) + ",2)") == 1;
      return behind || passed;
    }));
    return behind;
  }
  // The first one is held by the test's own session.
  std::string held_, free_;
  // The waiter did not have the places at this time.
  TimePoint not_yet_{};

 private:
  std::string place(const std::string& name) {
    std::string result = lock(name);
    return result.insert(result.size() - 1, ":place");
  }
  bool used(const std::string& literal) {
    return admin().number("SELECT IS_FREE_LOCK(" + literal + ")") == 0;
  }
  std::int64_t waiting(const std::string& part) {
    std::string quoted;
    for (const char c : part) quoted += c == '\'' ? "''" : std::string(1, c);
    return admin().number(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'User lock' AND "
        "INSTR(info, '" +
        quoted + "') > 0");
  }
};

// SEM 13: a set that was beaten often gets its turn: those who come later wait, and with nothing of
// it held meanwhile
TEST_P(Starving, ASetThatWasBeatenOftenIsLetPass) {
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  Locks other = lockset::open(url(), {.app = "other"}).value();
  bool seen = false;
  for (int round = 0; !seen && round < 20; ++round) {
    Stamp first;
    Stamp second;
    std::jthread waits([&] {
      Result<Hold> hold = waiter.acquire({write("a"), write("b")}, {.wait = 1min});
      ASSERT_TRUE(hold) << hold.error().message;
      first = hold->stamp();
    });
    starve();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    std::atomic<bool> passed = false;
    EXPECT_TRUE(other.acquire({write("c")}));  // nobody wants it
    std::jthread comes([&] {
      Result<Hold> hold = other.acquire({write(free_), write("c")}, {.wait = 1min});
      passed = true;
      ASSERT_TRUE(hold) << hold.error().message;
      second = hold->stamp();
    });
    // It waits although the name is free. One that does not wait is not told that it is taken.
    const bool behind = waits_for_place(free_, passed);
    const bool was_free = other.try_acquire({write(free_)}).value().has_value();
    unlock_raw(held_);
    waits.join();
    comes.join();
    seen = behind && in_time();
    if (seen) {
      EXPECT_TRUE(was_free);
      EXPECT_GT(second, first);
    }
    EXPECT_TRUE(eventually([&] { return !has_places(); }));
    ASSERT_TRUE(eventually([&] { return try_raw("b"); }));  // as at first
  }
  EXPECT_TRUE(seen) << "nobody was seen to let it pass, 20 times";
  unlock_raw("b");
}

// SEM 13: while one name of the waiter's is held for long, others get the free one
TEST_P(Starving, ALongHoldEndsThePlaces) {
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  Locks other = lockset::open(url(), {.app = "other"}).value();
  std::jthread waits([&] {
    const Result<Hold> hold = waiter.acquire({write("a"), write("b")}, {.wait = 1min});
    EXPECT_TRUE(hold) << hold.error().message;
  });
  starve();
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  {
    const Result<Hold> hold = other.acquire({write(free_)}, {.wait = 30s});
    EXPECT_TRUE(hold) << hold.error().message;
  }
  EXPECT_TRUE(eventually([&] { return !has_places(); }));
  EXPECT_TRUE(waits_for(held_));  // still
  unlock_raw(held_);
}

// SEM 10: the places end with their waiter, and with the waiter's process
TEST_P(Starving, AWaiterThatGivesUpLeavesItsPlaces) {
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  std::stop_source stop;
  std::jthread waits([&] {
    const Result<Hold> hold =
        waiter.acquire({write("a"), write("b")}, {.wait = 1min, .stop = stop.get_token()});
    EXPECT_FALSE(hold);
  });
  starve();
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  stop.request_stop();
  waits.join();
  EXPECT_TRUE(eventually([&] { return !has_places(); }));
  unlock_raw(held_);
  // Its session serves others.
  EXPECT_TRUE(waiter.acquire({write("a"), write("b")}, {.wait = 1min}));
}

TEST_P(Starving, AKilledWaitersPlacesAreFreeAtOnce) {
  Locks other = lockset::open(url(), {.app = "other"}).value();
  HolderProcess waiter(url(), 10min, {write("a"), write("b")}, true);
  starve();
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  waiter.kill(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !has_places(); }));
  const Result<Hold> hold = other.acquire({write(free_)}, {.wait = 1min});
  EXPECT_TRUE(hold) << hold.error().message;
  unlock_raw(held_);
}

LOCKSET_MYSQL_SESSIONS(SessionStrategy);
LOCKSET_MYSQL_SESSIONS(Starving);

}  // namespace
}  // namespace lockset::mysql_tests
