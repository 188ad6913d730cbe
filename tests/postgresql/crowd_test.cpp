// SEM 13: many waiters, and a server with few connections.
#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "tests/postgresql/fixture.h"

namespace lockset::postgresql_tests {
namespace {

class Crowd : public PostgresqlTest {
 protected:
  // Connections of programs to the shared server.
  std::int64_t connections() {
    return admin().number(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockset'");
  }
  // With strategy=serializable acquires have separate connections.
  [[nodiscard]] int needed() const { return strategy() == "serializable" ? 2 : 1; }
  [[nodiscard]] std::string space_of(const test::PrivateServer& server) const {
    std::string address = server.admin_url() + "?space=crowd&strategy=" + strategy();
    init_space(address, soon()).value();
    return address;
  }
  // From now on the user gets no more connections: error 53300.
  void full_for(const std::string& user) {
    admin().run("ALTER ROLE " + user + " CONNECTION LIMIT 1");
  }
};

TEST_P(Crowd, WhoWaitsKeepsOneConnection) {
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  const std::int64_t others = connections();
  Client waiter = client("waiter");
  Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = busy.ticket});
  EXPECT_EQ(connections() - others, needed());
  // It listens on that connection.
  ASSERT_TRUE(holder.release(stamp));
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + 30s, {}));
  EXPECT_LT(BootClock::now(), began + 15s);
  EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket}).stamp);
  EXPECT_EQ(connections() - others, needed());
}

// No wake-up is lost on a connection with many calls
TEST_P(Crowd, HearsWakeUpsBetweenItsCalls) {
  Client holder = client();
  Client waiter = client("waiter");
  Busy busy;
  for (int round = 0; round < 30; ++round) {
    const Stamp stamp = holder.take({write("a")}).stamp;
    busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = busy.ticket});
    std::atomic<bool> woken = false;
    test::run_threads(2, [&](std::size_t i) {
      if (i == 0) {
        while (!woken) static_cast<void>(waiter.backend().load_config(soon()).ok());
        return;
      }
      const AtEnd end([&] { woken = true; });
      EXPECT_TRUE(holder.release(stamp));
      const TimePoint began = BootClock::now();
      EXPECT_TRUE(waiter.backend().await_change(*busy.ticket, began + 60s, {}));
      EXPECT_LT(BootClock::now(), began + 30s) << "round " << round;
    });
    const Grant grant = waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket});
    ASSERT_TRUE(waiter.release(grant.stamp));
    busy.ticket.reset();
  }
}

// A holder renews its lease although the server accepts no more connections
TEST_P(Crowd, AHoldIsRenewedOverWhatThereIs) {
  const Address address = runtime_user();
  Client holder(open_backend(address.url(), soon()).value());
  const Stamp stamp = holder.take({write("a")}).stamp;
  full_for(address.user);
  EXPECT_TRUE(holder.renew(stamp, 2min));
  // So does a holder whose connection listens.
  Client other = client("other");
  other.take({write("b")});
  Busy busy = holder.meet_busy({write("b")}, {.will_wait = true});
  EXPECT_TRUE(holder.renew(stamp, 2min));
  EXPECT_TRUE(holder.release(stamp));
  holder.backend().end_wait(*busy.ticket, soon());
}

// A listener that closed for lack of connections comes back: it checks the present room, not what
// the earlier connection saw. Otherwise all that come back at once would find the same room.
TEST_P(Crowd, WhoComesBackLooksAnew) {
  test::PrivateServer small("postgresql");
  {
    Session session(small.admin_url());
    session.run("ALTER SYSTEM SET max_connections = 32");
  }
  small.restart();
  const std::string address = space_of(small);
  Session admin(small.admin_url());
  const auto connected = [&] {
    return admin.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'lockset'");
  };
  Client holder(open_backend(address, soon()).value());
  holder.take({write("a")});
  const std::int64_t others = connected();
  std::vector<std::unique_ptr<Session>> crowd;
  while (crowd.size() < 24) crowd.push_back(std::make_unique<Session>(small.admin_url()));
  Client waiter(open_backend(address, soon()).value());
  Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
  EXPECT_TRUE(eventually([&] { return connected() == others; })) << "it takes room from others";
  crowd.clear();
  EXPECT_TRUE(eventually(
      [&] { return admin.number("SELECT sum(numbackends) FROM pg_stat_database") < 12; }));
  busy = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = busy.ticket});
  EXPECT_TRUE(eventually([&] { return connected() == others + needed(); })) << "there was room";
  waiter.backend().end_wait(*busy.ticket, soon());
}

// More waiters than the server has connections: one is always left for ending a hold, and all
// waiters are served.
TEST_P(Crowd, WaitersLeaveRoomForARelease) {
  constexpr Duration longest_wait = 4min;  // reached only if something is broken
  const int waiters = 48 / needed();
  test::PrivateServer small("postgresql");
  {
    Session session(small.admin_url());
    session.run("ALTER SYSTEM SET max_connections = 32");
  }
  small.restart();
  const std::string address = space_of(small);
  // As in a program that may wait.
  const auto open_patiently = [&](const Options& options) {
    std::optional<Locks> locks;
    eventually(
        [&] {
          Result<Locks> opened = lockset::open(address, options);
          if (opened) locks = std::move(*opened);
          return opened || opened.error().code != Errc::unavailable;
        },
        longest_wait);
    return locks;
  };
  const Stamp stamp = [&] {
    // The hold outlives its process.
    Client raw(open_backend(address, soon()).value());
    return raw.take({write("a")}, {.lease = 10min}).stamp;
  }();
  std::atomic<int> waiting = 0;
  std::atomic<int> served = 0;
  test::run_threads(waiters + 1, [&](std::size_t i) {
    if (i == 0) {
      // After all have met the holder, somebody else ends its hold.
      ASSERT_TRUE(eventually([&] { return waiting == waiters; }, longest_wait));
      std::optional<Locks> other = open_patiently({.app = "app"});
      ASSERT_TRUE(other);
      EXPECT_TRUE(other->release_locks(stamp));
      return;
    }
    class Counts : public Observer {
     public:
      explicit Counts(std::atomic<int>& busy) : busy_(busy) {}
      void on_event(const Event& event) noexcept override {
        if (event.kind == Event::Kind::busy && !std::exchange(told_, true)) ++busy_;
      }

     private:
      std::atomic<int>& busy_;
      bool told_ = false;
    };
    const auto counts = std::make_shared<Counts>(waiting);
    Options options;
    options.app = "app";
    options.observer = counts;
    options.store_patience = longest_wait;
    std::optional<Locks> locks = open_patiently(options);
    ASSERT_TRUE(locks);
    Result<Hold> hold = locks->acquire({write("a")}, {.wait = 2 * longest_wait});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->release());
    ++served;
  });
  EXPECT_EQ(served, waiters);
}

LOCKSET_POSTGRESQL_SUITE(Crowd);

}  // namespace
}  // namespace lockset::postgresql_tests
