// SEM 13: one connection per client is told of the wake-ups of all its waiters, and a release wakes
// few at a time.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "backends/line_times.h"
#include "tests/mysql/fixture.h"
#include "tests/support/without_threads.h"

namespace lockset::mysql_tests {
namespace {

class Waking : public MysqlTest {
 protected:
  // The attempt looks, finds the hold, and waits for its own row, which is changed meanwhile.
  void be_called_during_an_attempt(Client& waiter, const std::shared_ptr<WaitTicket>& ticket,
                                   const std::string& changes) {
    const auto rude = session();
    rude->rows("START TRANSACTION");
    rude->rows("UPDATE " + table("_waiters") + " SET " + changes);
    std::jthread attempt([&] {
      EXPECT_TRUE(waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = ticket}).ticket !=
                  nullptr);
    });
    EXPECT_TRUE(rows_are_waited_for());
    rude->rows("COMMIT");
  }
};

constexpr std::size_t crowd = 200;

TEST_P(Waking, ACrowdCostsNoMoreQueriesThanOneWaiter) {
  Client holder = client();
  Client waiter = client("waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto questions_of = [&](std::size_t count) {
    std::vector<std::shared_ptr<WaitTicket>> tickets;
    for (std::size_t i = 0; i < count; ++i) {
      tickets.push_back(waiter.meet_busy({write("a")}, {.will_wait = true}).ticket);
    }
    std::atomic<std::size_t> woken = 0;
    std::vector<std::jthread> threads;
    const TimePoint until = BootClock::now() + 1500ms;
    const std::int64_t before = status("Questions");
    for (const auto& ticket : tickets) {
      threads.emplace_back([&, ticket] {
        EXPECT_TRUE(waiter.backend().await_change(*ticket, until, {}));
        if (BootClock::now() < until - 20ms) ++woken;
      });
    }
    threads.clear();
    const std::int64_t asked = status("Questions") - before;
    EXPECT_EQ(woken, 0U) << "of " << count << ", for no reason";
    for (const auto& ticket : tickets) waiter.backend().end_wait(*ticket, soon());
    return asked;
  };
  const std::int64_t one = questions_of(1);
  const std::int64_t many = questions_of(crowd);
  RecordProperty("questions_of_one", static_cast<int>(one));
  RecordProperty("questions_of_crowd", static_cast<int>(many));
  // A call each second, whose procedure counts as a few statements more; and these questions.
  EXPECT_LT(one, 40);
  EXPECT_LT(many, 40);
  EXPECT_TRUE(holder.release(stamp));
}

class Looks final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::busy) ++busy;
  }
  std::atomic<int> busy = 0;
};

// A herd would look half as many times per grant as there are waiters, mostly in vain.
TEST_P(Waking, AReleaseWakesAFewOfACrowd) {
  constexpr int waiters = 60;
  const auto looks = std::make_shared<Looks>();
  Options options;
  options.app = "waiters";
  options.observer = looks;
  Locks locks = lockset::open(open_backend(url(), soon()).value(), options).value();
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::atomic<int> inside = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 50s});
      EXPECT_TRUE(hold) << hold.error().message;
      EXPECT_EQ(++inside, 1);
      --inside;
    });
  }
  EXPECT_TRUE(eventually([&] { return looks->busy >= waiters; }));
  const int before = looks->busy;
  EXPECT_TRUE(holder.release(stamp));
  threads.clear();
  const int in_vain = looks->busy - before;
  RecordProperty("looks_in_vain", in_vain);
  EXPECT_LT(in_vain, waiters * waiters / 6);
}

// While a name is kept for a woken waiter, those behind it look one by one if it does not come. In
// a long line that looked at once, the woken one would wait behind their looks.
TEST_P(Waking, WhoStandsFarBackLooksLate) {
  constexpr std::size_t far_back = 20;
  Client c = client();
  c.change(SetMaxOvertakes{0});
  const auto retries = [&]() -> std::optional<std::pair<Duration, Duration>> {
    const Stamp stamp = c.take({write("a")}).stamp;
    std::vector<std::shared_ptr<WaitTicket>> tickets;
    for (std::size_t i = 0; i <= far_back; ++i) {
      tickets.push_back(c.meet_busy({write("a")}, {.will_wait = true}).ticket);
    }
    EXPECT_TRUE(c.release(stamp));
    std::optional<Duration> near;
    std::optional<Duration> far;
    // Once the woken one is too late, the name is granted.
    const auto look = [&](std::size_t at, std::optional<Duration>& result) {
      const auto answer = c.ask({write("a")}, {.will_wait = true, .ticket = tickets[at]}).value();
      if (const Busy* busy = std::get_if<Busy>(&answer)) {
        result = busy->retry_after;
      } else {
        EXPECT_TRUE(c.release(std::get<Grant>(answer).stamp));
      }
    };
    look(1, near);
    if (near) look(far_back, far);
    for (const auto& ticket : tickets) c.backend().end_wait(*ticket, soon());
    if (!near || !far) return {};
    return std::pair(*near, *far);
  };
  std::optional<std::pair<Duration, Duration>> seen;
  EXPECT_TRUE(eventually([&] { return (seen = retries()).has_value(); }));
  ASSERT_TRUE(seen);
  EXPECT_LE(seen->first, comes_within);
  EXPECT_GT(seen->second, comes_within * (far_back / 2));
}

// Errors are values, including this one.
TEST_P(Waking, NoThreadIsToBeHad) {
  EXPECT_TRUE(test::succeeds_without_threads([&](const auto& limit) {
    Client mine = client();
    Locks locks = lockset::open(url()).value();
    const Stamp stamp = mine.take({write("a")}).stamp;
    limit();
    // Nothing tells the waiter that it was woken, so it asks again by itself.
    const Busy busy = mine.meet_busy({write("a")}, {.will_wait = true});
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(mine.backend().await_change(*busy.ticket, began + 30s, {}));
    EXPECT_LT(BootClock::now() - began, 15s);
    const auto tried = locks.try_acquire({write("b")});
    return mine.release(stamp) && !tried.ok() && tried.error().code == Errc::unavailable;
  }));
}

// A KILL needs the same account. Without it, the waiter's own connection finds the mark.
TEST_P(Waking, AReleaseByAnotherAccountIsFound) {
  Client holder(open_backend(url(runtime_user()), soon()).value());
  Client waiter(open_backend(url(runtime_user()), soon()).value(), "waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  ASSERT_TRUE(holder.release(stamp));
  const test::Stopwatch watch;
  EXPECT_TRUE(waiter.backend().await_change(*ticket, BootClock::now() + 30s, {}));
  EXPECT_LT(watch.elapsed(), 15s) << "not woken, but run into its deadline";
  EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = ticket}).stamp);
}

// What was woken meanwhile is told by the next connection.
TEST_P(Waking, AMarkOutlivesTheConnection) {
  const Address address = runtime_user();
  Client holder = client();
  Client waiter(open_backend(url(address), soon()).value(), "waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  kill_sessions_of(address.user);
  ASSERT_TRUE(holder.release(stamp));
  const test::Stopwatch watch;
  EXPECT_TRUE(waiter.backend().await_change(*ticket, BootClock::now() + 30s, {}));
  EXPECT_LT(watch.elapsed(), 15s);
  EXPECT_TRUE(eventually([&] {
    return waiter.try_take({write("a")}, {.will_wait = true, .ticket = ticket}).has_value();
  }));
}

// A wake-up interrupts no statement but the listening connection's own: not even if the number of
// that connection belongs to another one by then.
TEST_P(Waking, ANameThatNobodyListensToKillsNothing) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  {
    Client gone = client("gone");
    gone.meet_busy({write("a")}, {.will_wait = true});
  }
  EXPECT_TRUE(eventually([&] {
    return admin().number("SELECT COUNT(*) FROM " + table("_waiters") +
                          " WHERE IS_USED_LOCK(CONCAT('lockset ', listener)) IS NOT NULL") == 0;
  }));
  const auto bystander = session();
  std::jthread sleeper([&] { EXPECT_EQ(bystander->number("SELECT SLEEP(1)"), 0); });
  EXPECT_TRUE(holder.release(stamp));
}

// A mark that is set while the waiter's attempt is under way is not taken for the one before.
TEST_P(Waking, ACallDuringAnAttemptIsNotForgotten) {
  Client holder = client();
  Client waiter = client("waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  be_called_during_an_attempt(waiter, ticket, "woken = since, calls = calls + 1");
  EXPECT_EQ(
      admin().number("SELECT COUNT(*) FROM " + table("_waiters") + " WHERE woken IS NOT NULL"), 1);
  EXPECT_TRUE(holder.release(stamp));
}

// What calls a waiter that is marked already sends no KILL of its own. So the waiter's attempt
// tells its own listener, which has told the earlier call and sleeps again.
TEST_P(Waking, ACallDuringAnAttemptIsHeardAtOnce) {
  Client holder = client();
  Client waiter = client("waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  session()->rows("UPDATE " + table("_waiters") + " SET woken = since, calls = calls + 1");
  EXPECT_TRUE(waiter.backend().await_change(*ticket, BootClock::now() + 30s, {}));
  const std::int64_t kills = status("Com_kill");
  be_called_during_an_attempt(waiter, ticket, "calls = calls + 1");
  EXPECT_EQ(status("Com_kill") - kills, 1);
  EXPECT_TRUE(waiter.backend().await_change(*ticket, BootClock::now() + 30s, {}));
  EXPECT_TRUE(holder.release(stamp));
}

// Each KILL of a connection that just wakes can hold up the server.
TEST_P(Waking, TwoReleasesEndOneSleepOnce) {
  Client holder = client();
  Client waiter = client("waiter");
  const Stamp a = holder.take({write("a")}).stamp;
  const Stamp b = holder.take({write("b")}).stamp;
  const auto ticket = waiter.meet_busy({write("a"), write("b")}, {.will_wait = true}).ticket;
  const std::int64_t kills = status("Com_kill");
  EXPECT_TRUE(holder.release(a));
  EXPECT_TRUE(holder.release(b));
  EXPECT_EQ(status("Com_kill") - kills, 1);
  EXPECT_TRUE(waiter.take({write("a"), write("b")}, {.will_wait = true, .ticket = ticket}).stamp);
}

// All SLEEPs share one mutex, which a KILL tries for two seconds on MariaDB.
TEST_P(Waking, OneListenerSleepsAndTheOthersWaitForItsLock) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::vector<Client> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.push_back(client("waiter"));
    waiters.back().meet_busy({write("a")}, {.will_wait = true});
  }
  EXPECT_TRUE(eventually([&] {
    return admin().number(
               "SELECT COUNT(*) FROM information_schema.processlist "
               "WHERE state LIKE 'User%lock%'") == 3 &&
           admin().number(
               "SELECT COUNT(*) FROM information_schema.processlist "
               "WHERE state LIKE 'User sleep%'") == 1;
  }));
  EXPECT_TRUE(holder.release(stamp));
}

LOCKSET_MYSQL_SERVERS(Waking);

}  // namespace
}  // namespace lockset::mysql_tests
