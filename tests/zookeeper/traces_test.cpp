// SEM 5, 14: whatever happens to the connection, failed attempts leave nothing behind, although
// their sessions continue.
#include <random>
#include <thread>

#include "tests/support/seed.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

using test::TcpProxy;

class Traces : public ZookeeperTest {
 protected:
  // A client whose next attempt for these names has nothing to read: its first request is the one
  // that grants.
  static void make_known(Client& client, const Wanted& wanted) {
    EXPECT_TRUE(eventually([&] {
      const auto outcome = client.ask(wanted, {.lease = 2s});
      if (!outcome || !std::holds_alternative<Grant>(*outcome)) return false;
      const auto released =
          client.backend().release(std::get<Grant>(*outcome).stamp, "app", soon());
      return released && *released;
    }));
  }
};

TEST_F(Traces, OfAttemptsWhoseRepliesWereLost) {
  TcpProxy proxy(server().port());
  Client mine(open_backend(url_through(proxy.port()), soon()).value());
  int doubts = 0;
  for (int i = 0; i < 3; ++i) {
    const Wanted wanted{write("a" + std::to_string(i)), read("b")};
    make_known(mine, wanted);
    proxy.cut_next_reply(i % 2 == 0 ? 0 : 4);
    const auto outcome = mine.ask_once(wanted, {.lease = 2s, .by = BootClock::now() + 2s});
    if (!outcome && outcome.error().code == Errc::indeterminate) ++doubts;
    // Some are not released: their leases end them.
    EXPECT_TRUE(outcome || outcome.error().retryable() || outcome.error().may_have_applied())
        << outcome.error().message;
  }
  RecordProperty("doubts", doubts);
  EXPECT_GE(doubts, 2) << "nothing was tested";
  EXPECT_TRUE(view().becomes_empty()) << view().traces().front();
}

TEST_F(Traces, OfWaitersWhoseRepliesWereLost) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  TcpProxy proxy(server().port());
  Client holder = client("holder");
  const Stamp stamp = holder.take({write("hot")}, {.lease = 5min}).stamp;
  const std::size_t traces_of_holder = view().traces().size();
  Client mine(open_backend(url_through(proxy.port()), soon()).value());
  std::atomic<int> cuts = 0;
  {
    std::jthread cutter([&](const std::stop_token& stop) {
      std::mt19937_64 random(seed);
      while (!stop.stop_requested()) {
        proxy.cut_next_reply();
        cuts += eventually([&] { return proxy.caught(); }, 20ms) ? 1 : 0;
        test::linger(std::chrono::microseconds(random() % 20'000));
      }
    });
    const TimePoint end = BootClock::now() + 1min;
    for (int i = 0; (i < 20 || cuts < 20) && BootClock::now() < end; ++i) {
      const auto outcome =
          mine.ask({write("hot")}, {.lease = 2s, .will_wait = true, .by = BootClock::now() + 2s});
      if (!outcome) continue;
      const Busy* busy = std::get_if<Busy>(&*outcome);
      ASSERT_NE(busy, nullptr) << test::describe(outcome);
      if (i % 2 == 0) mine.backend().end_wait(*busy->ticket, soon());
    }
  }
  RecordProperty("cuts", cuts);
  EXPECT_GE(cuts, 5) << "nothing was tested";
  proxy.heal();
  // A failure while it tidied up is retried.
  EXPECT_TRUE(eventually(
      [&] {
        static_cast<void>(mine.backend().sweep(soon()).ok());
        return view().traces().size() == traces_of_holder;
      },
      20s))
      << view().traces().size() << " " << view().traces().back();
  // And every waiter in the line still looks.
  const Busy busy = mine.meet_busy({write("hot")}, {.will_wait = true});
  EXPECT_TRUE(holder.release(stamp));
  const TimePoint until = BootClock::now() + 20s;
  EXPECT_TRUE(mine.backend().await_change(*busy.ticket, until, {}));
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  // The connection of the holds' session may have been cut too, and the first request there must be
  // the one that grants.
  make_known(mine, {write("hot")});
}

// SEM 14: the server hangs during attempts, and their callers give up
TEST_F(Traces, OfAttemptsThatWereGivenUp) {
  TcpProxy proxy(server().port());
  Client mine(open_backend(url_through(proxy.port()), soon()).value());
  int given_up = 0;
  for (int i = 0; i < 3; ++i) {
    const Wanted wanted{write("a"), write("n" + std::to_string(i))};
    make_known(mine, wanted);
    // The request arrives, and its answer comes when nobody waits for it any more.
    proxy.black_hole(i % 2 == 0 ? TcpProxy::Way::to_client : TcpProxy::Way::both);
    const auto outcome = mine.ask_once({write("a"), write("n" + std::to_string(i))},
                                       {.lease = 2s, .by = BootClock::now() + 300ms});
    EXPECT_FALSE(outcome) << test::describe(outcome);
    if (!outcome && outcome.error().may_have_applied()) ++given_up;
    proxy.heal();
    EXPECT_TRUE(view().becomes_empty()) << view().traces().front();
  }
  EXPECT_GE(given_up, 2) << "nothing was tested";
  EXPECT_TRUE(eventually([&] {
    const auto outcome = mine.ask({write("a")}, {.lease = 2s});
    return outcome && std::holds_alternative<Grant>(*outcome);
  }));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
