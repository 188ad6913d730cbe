// SEM 13: wake-ups over LISTEN, and what happens without them.
#include <atomic>
#include <thread>

#include "tests/postgresql/fixture.h"
#include "tests/support/event_counts.h"
#include "tests/support/tcp_proxy.h"

namespace lockset::postgresql_tests {
namespace {

// So long that a wake-up and the deadline can't be confused.
constexpr Duration far = 30s;
constexpr Duration early = 15s;

class WaitingTest : public PostgresqlTest {
 protected:
  // How many waiters for `name` the store has.
  std::int64_t in_line(const std::string& name) {
    return admin().number("SELECT count(*) FROM " + space() + ".waiter_names WHERE name = '" +
                          name + "'");
  }
};

// A client joins the line only when it has to wait
TEST_P(WaitingTest, ListensFromTheFirstWaitOn) {
  Client c = client();
  const Stamp stamp = c.take({write("a")}, {.will_wait = true}).stamp;
  c.meet_busy({write("a")});
  EXPECT_EQ(in_line("a"), 0);
  const Busy busy = c.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_EQ(in_line("a"), 1);
  ASSERT_TRUE(c.release(stamp));
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(c.backend().await_change(*busy.ticket, began + far, {}));
  EXPECT_LT(BootClock::now(), began + early);
  c.backend().end_wait(*busy.ticket, soon());
}

// A waiter gives up just when another registers, for whom only that one was in the way
TEST_P(WaitingTest, WhoGivesUpFindsWhoIsJustRegistering) {
  Client holder = client("holder");
  Client quitter = client("quitter");
  holder.change(SetMaxOvertakes{0});
  for (Client* each : {&holder, &quitter}) each->reload();
  holder.take({write("b")});
  const Busy busy = quitter.meet_busy({write("a"), write("b")}, {.will_wait = true});
  std::string register_sql = acquire_sql("a");
  const std::string nowhere = "'', '')";
  register_sql.replace(register_sql.rfind(nowhere), nowhere.size(), "'nobody', '7', 0)");
  Session next;
  next.run(begin_sql());
  ASSERT_EQ(next.text(register_sql).substr(0, 1), "B");
  {
    std::jthread gives_up([&] { quitter.backend().end_wait(*busy.ticket, soon()); });
    EXPECT_TRUE(somebody_waits("end_wait_v2"));
    next.run("COMMIT");
  }
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() +
                           ".waiters WHERE channel = 'nobody' AND woken IS NOT NULL"),
            1);
}

// A server that does not answer any more, and does not end the connection either
TEST_P(WaitingTest, ASilentServerKeepsNobodyFromEnding) {
  test::TcpProxy proxy(server().port());
  std::string address = url();
  const std::string port = ":" + std::to_string(server().port()) + "/";
  address.replace(address.find(port), port.size(), ":" + std::to_string(proxy.port()) + "/");
  std::shared_ptr<Backend> backend = open_backend(address, soon()).value();
  client().take({write("a")});
  Client(backend, "waiter").meet_busy({write("a")}, {.will_wait = true});
  ASSERT_EQ(in_line("a"), 1);
  proxy.black_hole(test::TcpProxy::Way::both);
  std::atomic<bool> ended = false;
  std::thread end([&] {
    backend.reset();
    ended = true;
  });
  EXPECT_TRUE(eventually([&] { return ended.load(); }, far));
  proxy.cut_all();
  end.join();
}

// A release is under way when a waiter registers: one of the two sees the other
TEST_P(WaitingTest, ARegistrationAndAReleaseDoNotMissOneAnother) {
  Client holder = client();
  Client waiter = client("waiter");
  for (int round = 0; round < 50; ++round) {
    const Stamp stamp = holder.take({write("a")}).stamp;
    std::thread release([&] { EXPECT_TRUE(holder.release(stamp)); });
    const auto outcome = waiter.ask({write("a")}, {.will_wait = true});
    Stamp got;
    if (const Busy* busy = std::get_if<Busy>(&outcome.value())) {
      const TimePoint began = BootClock::now();
      EXPECT_TRUE(waiter.backend().await_change(*busy->ticket, began + far, {}));
      EXPECT_LT(BootClock::now(), began + early) << "round " << round;
      release.join();
      got = waiter.take({write("a")}, {.will_wait = true, .ticket = busy->ticket}).stamp;
    } else {
      release.join();
      got = std::get<Grant>(*outcome).stamp;
    }
    ASSERT_TRUE(waiter.release(got));
  }
}

// The registration waits for a release whose transaction is not over
TEST_P(WaitingTest, ARegistrationWaitsForAReleaseUnderWay) {
  Client c = client();
  const Stamp stamp = c.take({write("a")}).stamp;
  Session releaser;
  releaser.run("BEGIN");
  EXPECT_EQ(releaser.text("SELECT " + space() + ".release_v2(" + std::to_string(stamp.value) +
                          ", 'app')"),
            "R");
  std::optional<Grant> grant;
  std::thread thread([&] {
    Client waiter = client("waiter");
    grant = waiter.try_take({write("a")}, {.will_wait = true});
  });
  EXPECT_TRUE(somebody_waits("acquire_v2"));
  releaser.run("COMMIT");
  thread.join();
  EXPECT_TRUE(grant) << "left waiting for a hold that had ended";
}

// The listening connection dies; waiting continues over another
TEST_P(WaitingTest, SurvivesTheEndOfTheListeningConnection) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  const std::string sessions = " FROM pg_stat_activity WHERE application_name = 'lockset'";
  const std::string of_holder =
      admin().text("SELECT string_agg(pid::text, ',')" + sessions + " AND pid <> pg_backend_pid()");
  Client waiter = client("waiter");
  Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  ASSERT_EQ(in_line("a"), 1);
  admin().run("SELECT pg_terminate_backend(pid)" + sessions + " AND pid NOT IN (" + of_holder +
              ")");
  // It returns to look again, because it may have missed something.
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + far, {}));
  EXPECT_LT(BootClock::now(), began + early);
  // A waiter without a listening connection returns sooner than this.
  constexpr Duration longer = 1s;
  EXPECT_TRUE(eventually([&] {
    const auto found = waiter.ask({write("a")}, {.will_wait = true, .ticket = busy.ticket});
    if (!found) return false;  // over a connection whose end was not noticed yet
    busy = std::get<Busy>(*found);
    const TimePoint now = BootClock::now();
    EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, now + longer, {}));
    return BootClock::now() >= now + longer;
  }));
  busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = busy.ticket});
  ASSERT_TRUE(holder.release(stamp));
  const TimePoint released = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, released + far, {}));
  EXPECT_LT(BootClock::now(), released + far);
  EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
}

// A dead waiter that was woken does not use up the next wake-up
TEST_P(WaitingTest, ADeadWaiterIsPassedOver) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  Client dead = client("dead");
  dead.meet_busy({write("a")}, {.will_wait = true});
  Client waiter = client("waiter");
  Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  ASSERT_TRUE(holder.release(stamp));  // wakes the dead one
  const Stamp again = holder.take({write("a")}).stamp;
  ASSERT_TRUE(eventually([&] {
    return admin().number("SELECT count(*) FROM " + space() +
                          ".waiters WHERE woken < clock_timestamp() - interval '150 ms'") == 1;
  }));
  const TimePoint began = BootClock::now();
  ASSERT_TRUE(holder.release(again));
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + far, {}));
  EXPECT_LT(BootClock::now(), began + early);
  EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
}

// Rows of waiters that have vanished are swept
TEST_P(WaitingTest, DeadWaitersAreSwept) {
  Client holder = client();
  holder.take({write("a")});
  Client dead = client("dead");
  dead.meet_busy({write("a"), read("b")}, {.will_wait = true});
  admin().run("UPDATE " + space() + ".waiters SET expires = now() - interval '1 s'");
  EXPECT_TRUE(holder.inspect().waiters.empty());
  ASSERT_TRUE(holder.backend().sweep(soon()));
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() + ".waiters"), 0);
  EXPECT_EQ(admin().number("SELECT count(*) FROM " + space() + ".waiter_names"), 0);
}

// listen=off: nobody registers, waiting is polling, and it works
TEST_P(WaitingTest, WithoutListenItPolls) {
  const std::shared_ptr<Backend> backend = open("listen=off");
  EXPECT_FALSE(backend->traits().push_wakeup);
  const auto events = std::make_shared<test::EventCounts>();
  Locks locks = lockset::open(url("listen=off"), {.app = "app", .observer = events}).value();
  Client holder(backend);
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::thread release([&] {
    EXPECT_TRUE(eventually([&] { return events->busy > 0; })) << "it does not wait";
    EXPECT_EQ(in_line("a"), 0);
    EXPECT_TRUE(holder.release(stamp));
  });
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
  release.join();
  EXPECT_TRUE(hold) << hold.error().message;
}

LOCKSET_POSTGRESQL_SUITE(WaitingTest);

}  // namespace
}  // namespace lockset::postgresql_tests
