// SEM 10, 13, 14: connections that the server ends, that are all in use, or that can't be opened.
#include <thread>

#include "tests/conformance/server_suite.h"

namespace lockset::conformance {
namespace {

class ServerConnections : public ServerConformance {};

// SEM 14: a connection that broke while idle spoils at most one call, and none for users of the
// core
TEST_P(ServerConnections, AnIdleBrokenOneSpoilsNoAcquire) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  const auto events = std::make_shared<EventCounts>();
  Client c = client();
  warm_up(c, {write("a")});
  Locks mine = locks({.lease = 1min, .refresh_config = 1h, .observer = events});
  Hold kept = mine.acquire({write("kept")}).value();
  for (int round = 0; round < 5; ++round) {
    space().kill_connections();
    const std::string again = std::to_string(round);
    // A lease that outlasts any stall of the machine: some stores end a session with it.
    const Result<AcquireOutcome> outcome = c.ask({write("a" + again)}, {.lease = 1min});
    if (!outcome) {
      // The end of the connection had not arrived yet.
      EXPECT_TRUE(is_trouble(outcome.error())) << outcome.error().message;
    }
    EXPECT_TRUE(c.ask({write("x" + again)}, {.lease = 1min})) << "spoilt twice";

    space().kill_connections();
    Result<Hold> hold = mine.acquire({write("b" + again)}, {.wait = 5s});
    ASSERT_TRUE(hold) << hold.error().message;
    space().kill_connections();
    EXPECT_TRUE(kept.renew().ok() || kept.renew().ok()) << "spoilt twice";
    space().kill_connections();
    const Status released = hold->release();
    EXPECT_TRUE(released) << released.error().message;
    space().kill_connections();
    const Result<std::optional<Hold>> tried = mine.try_acquire({write("c")});
    ASSERT_TRUE(tried) << tried.error().message;
    EXPECT_TRUE(*tried);
  }
  EXPECT_EQ(events->lost, 0);
  EXPECT_TRUE(kept.valid());
}

// SEM 4, 14: connections end all the time, at any moment
TEST_P(ServerConnections, AStormBreaksNoPromise) {
  if (lacks_server()) return;
  constexpr std::size_t workers = 4;
  constexpr std::size_t names = 3;
  // The threads inside do not check that it is still valid.
  constexpr Duration lease = 6s;
  // A hold that ends with its connection is another's before its holder has heard of that.
  const bool exclusive = traits().holds_outlive_connections;
  std::atomic<int> holders[names] = {};
  std::atomic<bool> stop = false;
  std::atomic<int> grants = 0;
  std::atomic<int> troubles = 0;
  {
    // Every second thread shares its client with others.
    std::vector<Locks> clients;
    clients.push_back(locks({.app = "shared", .lease = lease}));
    for (std::size_t i = 1; i < workers; i += 2) {
      clients.push_back(locks({.app = "app" + std::to_string(i), .lease = lease}));
    }
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < workers; ++i) {
      threads.emplace_back([&, i] {
        Locks& mine = clients[i % 2 == 0 ? 0 : (i + 1) / 2];
        for (std::size_t n = i; !stop; ++n) {
          const std::size_t a = n % names;
          const std::size_t b = (n + 1) % names;
          Result<Hold> hold = mine.acquire(
              {write("n" + std::to_string(a)), write("n" + std::to_string(b))}, {.wait = 5s});
          if (!hold) {
            EXPECT_TRUE(is_trouble(hold.error()) || hold.error().code == Errc::timeout)
                << hold.error().message;
            ++troubles;
            continue;
          }
          ++grants;
          for (const std::size_t name : {a, b}) {
            const int inside = ++holders[name];
            EXPECT_TRUE(inside == 1 || !exclusive) << "two holders at once";
          }
          linger(std::chrono::microseconds(200));
          --holders[a];
          --holders[b];
          const Status released = hold->release();
          if (!released && !is_trouble(released.error())) {
            EXPECT_EQ(released.error().code, Errc::not_held) << released.error().message;
          }
        }
      });
    }
    // A machine on which all this is slow gets a grant between two storms, and more time.
    int storms = 0;
    bool progress = true;
    const TimePoint began = BootClock::now();
    const auto enough = [&] { return grants >= 50 && storms >= 10; };
    while (BootClock::now() - began < 3s || (!enough() && progress)) {
      const int before = grants;
      space().kill_connections();
      ++storms;
      linger(50ms);
      if (BootClock::now() - began < 3s) continue;
      progress = eventually([&] { return grants > before; }, 3 * patience);
    }
    EXPECT_TRUE(progress) << "stuck after " << storms << " storms";
    // It works again at once.
    const int before = grants;
    EXPECT_TRUE(eventually([&] { return grants >= before + 20; }, 3 * patience))
        << "no progress afterwards";
    stop = true;
  }
  EXPECT_GE(grants, 50) << "hardly any progress";
  RecordProperty("grants", grants);
  RecordProperty("troubles", troubles);
  Client c = client();
  EXPECT_TRUE(eventually([&] { return c.holds().empty(); }, 3 * patience)) << "a ghost";
}

// SEM 10: renewals never queue behind acquires: every other connection is stuck
TEST_P(ServerConnections, RenewalsHaveOneOfTheirOwn) {
  if (lacks_server()) return;
  if (skip_unless(!traits().session_leases, "a connection of renewals' own")) return;
  const auto events = std::make_shared<EventCounts>();
  constexpr Duration stuck = 30s;
  Locks mine = proxied_locks({.lease = 5s,
                              .io_timeout = stuck,
                              .store_patience = 1s,
                              .refresh_config = 1h,
                              .observer = events},
                             "pool=1");
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_TRUE(mine.acquire({write("b")}).value().release());
  // Right after a renewal, so that the next request is not one.
  ASSERT_TRUE(eventually([&] { return events->renewed >= 1; }));
  const int before = events->renewed;
  ASSERT_TRUE(eventually([&] { return events->renewed > before; }));
  proxy().hold_next_request();
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        // A lease that is not over when the answer comes at last.
        (void)mine.acquire({write("b")}, {.wait = stuck, .lease = stuck}).ok();
        ++answered;
      });
    }
    ASSERT_TRUE(eventually([&] { return proxy().caught(); }));
    // Longer than the lease.
    const TimePoint until = hold.valid_until();
    EXPECT_TRUE(eventually([&] { return BootClock::now() >= until; }));
    EXPECT_TRUE(hold.valid());
    EXPECT_EQ(answered, 0) << "the connection was not stuck";
    EXPECT_EQ(proxy().deliver_held(), 1U);
  }
  EXPECT_EQ(events->lost, 0);
  EXPECT_TRUE(hold.release());
}

// SEM 13: more acquires at once than connections; all get their turn
TEST_P(ServerConnections, ASmallPoolServesMany) {
  if (lacks_server()) return;
  const auto events = std::make_shared<EventCounts>();
  Locks mine = proxied_locks({.lease = 10s, .observer = events}, "pool=2");
  std::atomic<int> holders = 0;
  run_threads(12, [&](std::size_t) {
    for (int i = 0; i < 5; ++i) {
      Hold hold = mine.acquire({write("a"), read("b")}, {.wait = 1min}).value();
      EXPECT_EQ(++holders, 1);
      --holders;
      EXPECT_TRUE(hold.release());
    }
  });
  EXPECT_EQ(events->lost, 0);
  // Two for calls, and a few internal ones of the backend: for renewals, for wake-ups.
  EXPECT_LE(proxy().open_connections(), 2U + 3U);
}

// SEM 14: new connections are refused, while the old ones work
TEST_P(ServerConnections, OldOnesGoOnWhenNewOnesAreRefused) {
  if (lacks_server()) return;
  Client c(proxied());
  warm_up(c, {write("a")});
  proxy().refuse();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.release(c.take({write("a")}).stamp));
  proxy().cut_all();
  for (int i = 0; i < 2; ++i) {
    const Result<AcquireOutcome> outcome =
        c.ask_once({write("a")}, {.lease = 1s, .by = BootClock::now() + 1s});
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_TRUE(is_trouble(outcome.error())) << outcome.error().message;
    if (i > 0) {
      EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    }
  }
  proxy().heal();
  EXPECT_TRUE(eventually([&] {
    const Result<AcquireOutcome> outcome = c.ask({write("a")});
    return outcome && std::holds_alternative<Grant>(*outcome);
  }));
}

LOCKSET_CONFORMANCE_SUITE(ServerConnections);

}  // namespace
}  // namespace lockset::conformance
