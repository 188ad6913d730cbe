// strategy=session: holds that are the server's own session-level locks (ADR 0065).
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "backends/postgresql/script.h"
#include "backends/postgresql/session_line.h"
#include "tests/postgresql/fixture.h"
#include "tests/support/holder_process.h"

namespace lockset::postgresql_tests {
namespace {

using test::HolderProcess;

class SessionStrategy : public PostgresqlTest {
 protected:
  [[nodiscard]] std::string key(const std::string& name) const {
    return std::to_string(postgresql::session_key(space(), name));
  }
  // The server's processes that hold the lock of this name.
  [[nodiscard]] std::string holders(const std::string& name) const {
    return locks(key(name), true);
  }
  static std::string locks(const std::string& key, bool granted) {
    return std::string("SELECT l.pid FROM pg_locks l WHERE l.locktype = 'advisory' AND ") +
           "l.objsubid = 1 AND " + (granted ? "" : "NOT ") +
           "l.granted AND l.classid::bigint << 32 | l.objid::bigint = " + key;
  }
  bool try_raw(const std::string& name) {
    return admin().text("SELECT pg_try_advisory_lock(" + key(name) + ")") == "t";
  }
  void unlock_raw(const std::string& name) {
    EXPECT_EQ(admin().text("SELECT pg_advisory_unlock(" + key(name) + ")"), "t");
  }
  // How many grants of one name four threads of one client got, never two at a time.
  int grants_of_threads(const std::string& parameters) {
    const std::shared_ptr<Backend> shared = open(parameters);
    std::atomic<int> inside = 0;
    std::atomic<int> grants = 0;
    test::run_threads(4, [&](std::size_t i) {
      Client c(shared, "app" + std::to_string(i));
      for (int round = 0; round < 100; ++round) {
        const std::optional<Grant> grant = c.try_take({write("a")});
        if (!grant) continue;
        if (++inside > 1) ADD_FAILURE() << "two at a time";
        ++grants;
        --inside;
        if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
      }
    });
    EXPECT_EQ(admin().run(holders("a")).size(), 0U);
    return grants;
  }
};

// SEM 10: "If a store can tell for certain that the process ... has ended"
TEST_P(SessionStrategy, AKilledHoldersSetIsFreeAtOnce) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  HolderProcess holder(url(), 10min);
  ASSERT_FALSE(mine.try_acquire({write("a")}).value());
  const TimePoint killed = BootClock::now();
  holder.kill(SIGKILL);
  const Result<Hold> next = mine.acquire({write("a")}, {.wait = 30s});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_LT(BootClock::now() - killed, 1s);
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
  admin().run("SELECT pg_terminate_backend(pid) FROM (" + holders("a") + ") held");
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_LT(BootClock::now() - ended, 5s);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
  const Hold next = other.acquire({write("a")}, {.wait = 30s}).value();
  EXPECT_GT(next.stamp(), hold.stamp());
}

// SEM 15: the server would grant a lock again to a session that has it
TEST_P(SessionStrategy, ThreadsOfOneClientExcludeEachOther) {
  EXPECT_GT(grants_of_threads("pool=3"), 50);
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

// Names that share a key wait for each other, and for anybody else who uses it
TEST_P(SessionStrategy, AnothersLockOfTheSameKeyIsWaitedFor) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  ASSERT_TRUE(try_raw("a"));
  EXPECT_FALSE(mine.try_acquire({write("a")}).value());
  std::jthread later([&] {
    EXPECT_TRUE(eventually([&] {
      return admin().number(
                 "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT "
                 "granted") == 1;
    }));
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
      EXPECT_TRUE(try_raw(name)) << name << " is held, and " << taken << " is in the way";
      unlock_raw(name);
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
  ASSERT_TRUE(eventually([&] {
    return admin().number(
               "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT "
               "granted") == 1;
  }));
  EXPECT_TRUE(try_raw("a"));
  unlock_raw("a");
  unlock_raw("b");
  EXPECT_TRUE(eventually([&] { return granted.load(); }));
}

// One who wants "a" and "b", and is beaten to one of them again and again, by a test that takes
// each name when the waiter waits for the other one.
class Starving : public SessionStrategy {
 protected:
  void SetUp() override {
    SessionStrategy::SetUp();
    ASSERT_TRUE(try_raw("b"));
  }
  // Until the waiter has asked for the place in the line and got it. A place lasts for a second, so
  // on a busy machine it may have ended already.
  void starve() {
    const char* held = "b";
    const char* free = "a";
    int beats = 0;
    for (; beats < 100; ++beats) {
      const TimePoint now = BootClock::now();
      if (in_line()) break;
      not_yet_ = now;
      ASSERT_TRUE(waited_for(held));
      ASSERT_TRUE(eventually([&] { return try_raw(free); })) << free << " is held meanwhile";
      unlock_raw(held);
      std::swap(held, free);
    }
    ASSERT_LT(beats, 100) << "beaten, and never in the line";
    ASSERT_TRUE(waited_for(held));
    held_ = held;
    free_ = free;
  }
  // What happened since starve() happened before the place could end by itself.
  [[nodiscard]] bool in_time() const {
    return BootClock::now() - not_yet_ < postgresql::SessionLine::lasts;
  }
  bool waited_for(const std::string& name) {
    return eventually([&] { return waiters(name) > 0; });
  }
  std::int64_t waiters(const std::string& name) {
    return admin().number("SELECT count(*) FROM (" + locks(key(name), false) + ") w");
  }
  bool in_line() { return !admin().run(locks(line(), true)).empty(); }
  // False: it passed, for it had not heard of the line yet, or the place had ended.
  bool waits_behind_line(const std::atomic<bool>& passed) {
    bool behind = false;
    EXPECT_TRUE(eventually([&] {
      behind = admin().number("SELECT count(*) FROM (" + locks(line(), false) + ") w") == 1;
      return behind || passed;
    }));
    return behind;
  }
  // The first one is held by the test's own session.
  std::string held_, free_;
  // The waiter did not have the place at this time.
  TimePoint not_yet_{};

 private:
  [[nodiscard]] std::string line() const {
    return std::to_string(postgresql::session_line_key(space()));
  }
};

// SEM 13: a set that was beaten often gets its turn: those who come later wait, and with nothing of
// it held meanwhile
TEST_P(Starving, ASetThatWasBeatenOftenIsLetPass) {
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  Locks other = lockset::open(url(), {.app = "other"}).value();
  ASSERT_TRUE(other.acquire({write("c")}));  // it is connected, and hears of the line
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
      Result<Hold> hold = other.acquire({write(free_)}, {.wait = 1min});
      passed = true;
      ASSERT_TRUE(hold) << hold.error().message;
      second = hold->stamp();
    });
    // It waits although the name is free.
    const bool behind = waits_behind_line(passed);
    const bool was_free = try_raw(free_);
    if (was_free) unlock_raw(free_);
    unlock_raw(held_);
    waits.join();
    comes.join();
    seen = behind && in_time();
    if (seen) {
      EXPECT_TRUE(was_free);
      EXPECT_GT(second, first);
    }
    EXPECT_TRUE(eventually([&] { return !in_line(); }));
    ASSERT_TRUE(try_raw("b"));  // as at first
  }
  EXPECT_TRUE(seen) << "nobody was seen behind the line, 20 times";
  unlock_raw("b");
}

// SEM 13: while one name of the waiter's is held for long, others get the free one
TEST_P(Starving, ALongHoldEndsThePlaceInTheLine) {
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  Locks other = lockset::open(url(), {.app = "other"}).value();
  ASSERT_TRUE(other.acquire({write("c")}));
  std::jthread waits([&] {
    const Result<Hold> hold = waiter.acquire({write("a"), write("b")}, {.wait = 1min});
    EXPECT_TRUE(hold) << hold.error().message;
  });
  starve();
  ASSERT_FALSE(testing::Test::HasFatalFailure());
  const Result<Hold> hold = other.acquire({write(free_)}, {.wait = 30s});
  EXPECT_TRUE(hold) << hold.error().message;
  EXPECT_TRUE(eventually([&] { return !in_line(); }));
  unlock_raw(held_);
}

// SEM 10: the place ends with its waiter, and with the waiter's process
TEST_P(Starving, AWaiterThatGivesUpLeavesTheLine) {
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
  EXPECT_TRUE(eventually([&] { return !in_line(); }));
}

TEST_P(Starving, AKilledWaitersPlaceIsFreeAtOnce) {
  Locks other = lockset::open(url(), {.app = "other"}).value();
  ASSERT_TRUE(other.acquire({write("c")}));  // it is connected, and hears of the line
  bool seen = false;
  for (int round = 0; !seen && round < 20; ++round) {
    HolderProcess waiter(url(), 10min, {write("a"), write("b")}, true);
    starve();
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    std::atomic<bool> passed = false;
    std::jthread comes([&] {
      const Result<Hold> hold = other.acquire({write(free_)}, {.wait = 1min});
      passed = true;
      EXPECT_TRUE(hold) << hold.error().message;
    });
    const bool behind = waits_behind_line(passed);
    waiter.kill(SIGKILL);
    // Nobody is left who would end the place when its time is over.
    seen = behind && in_time();
    EXPECT_TRUE(eventually([&] { return !in_line(); }));
    comes.join();
    unlock_raw(held_);
    ASSERT_TRUE(eventually([&] { return try_raw("b"); }));  // as at first
  }
  EXPECT_TRUE(seen) << "nobody was seen behind the line, 20 times";
  unlock_raw("b");
}

// A waiter that gives up leaves the server's queue at once
TEST_P(SessionStrategy, AWaiterThatGivesUpLeavesTheQueue) {
  Client holder = client();
  holder.take({write("a")});
  Locks waiter = lockset::open(url(), {.app = "waiter"}).value();
  const auto late = waiter.acquire({write("a")}, {.wait = 300ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timeout);
  EXPECT_EQ(admin().number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT "
                           "granted"),
            0);
}

// SEM 17: the client of a broken hold ends it; if it stands still, its session is ended
TEST_P(SessionStrategy, AStoppedHoldersHoldCanBeBroken) {
  Locks mine = lockset::open(url(), {.app = "mine"}).value();
  HolderProcess holder(url(), 10min);
  // Holds that last are published.
  const std::string published = "SELECT count(*) FROM " + space() + ".session_holds";
  ASSERT_TRUE(eventually([&] { return admin().number(published) == 1; }));
  holder.kill(SIGSTOP);
  const auto holds = mine.inspect().value().holds;
  ASSERT_EQ(holds.size(), 1U);
  EXPECT_EQ(holds[0].owner.app, "child");
  EXPECT_TRUE(mine.break_hold(holds[0].stamp));
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = 10s}));
  holder.kill(SIGCONT);
  EXPECT_TRUE(eventually([&] { return !holder.valid(); }));
}

// SEM 8: a crash forgets the sequence's last steps, and no stamp comes again
TEST_P(SessionStrategy, StampsGrowOverACrash) {
  test::PrivateServer own("postgresql");
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

// SEM 17: also while the server has two rows of it
TEST_P(SessionStrategy, AHoldOfAClientThatConnectedAgainIsShownOnce) {
  Client c = client();
  const Stamp held = c.take({write("a"), read("b")}).stamp;
  EXPECT_EQ(c.inspect().holds.size(), 1U);
  admin().run("INSERT INTO \"" + space() +
              "\".session_holds SELECT stamp, key, since, ends - 1000, epoch, client + 1000000, "
              "pid, mode, name, app, instance, label FROM \"" +
              space() + "\".session_holds");
  const std::vector<HoldInfo> seen = c.inspect().holds;
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].items, (test::Wanted{write("a"), read("b")}));
  EXPECT_TRUE(c.release(held));
}

// SEM 20: a server that was demoted grants nothing and confirms no renewal
TEST_P(SessionStrategy, ADemotedServerGrantsNothing) {
  Client c = client();
  const Stamp held = c.take({write("a")}).stamp;
  set_read_only(true);
  const AtEnd writable([&] { set_read_only(false); });
  const auto refused_now = [&](const auto& result) {
    return !result && result.error().code == Errc::unavailable &&
           says(result.error().message, "read-only");
  };
  const RenewRequest request{held, 5min};
  EXPECT_TRUE(eventually([&] {
    return refused_now(c.backend().renew(c.owner(), {&request, 1}, soon()));
  }));
  EXPECT_FALSE(c.ask_once({write("b")}));
  EXPECT_FALSE(c.ask_once({write("b"), write("c")}));
  set_read_only(false);
  EXPECT_TRUE(eventually([&] { return c.backend().renew(c.owner(), {&request, 1}, soon()).ok(); }));
  EXPECT_TRUE(c.renew(held, 5min));
  EXPECT_TRUE(c.release(held));
  EXPECT_TRUE(eventually([&] { return c.try_take({write("b")}).has_value(); }));
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
  EXPECT_EQ(admin().run(holders("a")).size(), 1U);
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
  refused(url("pooler=on"), Errc::misconfigured);
}

// A program that does not know the strategy finds nothing to call
TEST_P(SessionStrategy, TheOtherStrategiesFunctionsAreNotThere) {
  EXPECT_EQ(admin().number("SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = "
                           "p.pronamespace WHERE n.nspname = '" +
                           space() + "' AND p.proname ~ '^(acquire|release|renew)_'"),
            0);
}

// A program's user needs no more than `lockset init --program` gives
TEST_P(SessionStrategy, AProgramsRightsSuffice) {
  Client c(open_backend(runtime_user().url(), soon()).value());
  const Grant grant = c.take({write("a"), write("b")});
  EXPECT_TRUE(c.is_live(grant.stamp));
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
  EXPECT_FALSE(c.backend().break_hold(grant.stamp, soon()));
  EXPECT_TRUE(c.release(grant.stamp));
}

// What a doctor says of the strategy, to a program's user
TEST_P(SessionStrategy, ADoctorLooksAtWhatSessionsNeed) {
  const auto said = [](const std::string& url, const std::string& subject) {
    std::string levels;
    for (const Finding& each : examine_space(url, soon()).value()) {
      if (each.subject != subject) continue;
      levels += each.level == Finding::Level::good     ? 'g'
                : each.level == Finding::Level::unsafe ? 'u'
                                                       : 'w';
    }
    return levels;
  };
  EXPECT_EQ(said(runtime_user().url(), "rights"), "g");
  EXPECT_EQ(said(url(), "sessions"), "g");
  EXPECT_EQ(said(url("pooler=on"), "sessions"), "u");
}

INSTANTIATE_TEST_SUITE_P(Strategies, Starving, testing::Values(std::string("session")),
                         [](const auto& each) { return each.param; });
INSTANTIATE_TEST_SUITE_P(Strategies, SessionStrategy, testing::Values(std::string("session")),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace lockset::postgresql_tests
