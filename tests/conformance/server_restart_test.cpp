// SEM 8, 10, 13, 14, 20 if the server goes away and comes back: an orderly restart, and kill -9.
// Clients are never opened again.
#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "tests/conformance/server_suite.h"

namespace lockset::conformance {
namespace {

constexpr Outage::Kind both[] = {Outage::Kind::stopped, Outage::Kind::killed};

std::string_view to_string(Outage::Kind kind) {
  return kind == Outage::Kind::stopped ? "restart" : "kill -9";
}

class ServerRestart : public ServerConformance {
 protected:
  // The earlier connections are broken. The first call on each may report that.
  static void find_out(Client& client) {
    for (int i = 0; i < 20; ++i) {
      const Result<SpaceConfig> config = client.backend().load_config(soon());
      if (config) return;
      ASSERT_TRUE(is_trouble(config.error())) << config.error().message;
    }
    FAIL() << "the client does not find its way back";
  }

  [[nodiscard]] bool quarantines() { return harness().harness_traits().quarantines; }
  [[nodiscard]] bool keeps_holds() {
    return traits().holds_outlive_connections && harness().harness_traits().keeps_after_restart;
  }
  // A store that grants nothing for its longest lease after a restart now does so only for this
  // long. REQUIRES: nothing is held.
  void limit_quarantine(Client& client, Duration longest) {
    if (quarantines()) client.change(SetMaxLease{longest});
  }
  // Such a store says so, refuses, and then grants again.
  void wait_out_quarantine(Client& client) {
    if (!quarantines()) return;
    EXPECT_TRUE(client.inspect().quarantine);
    const Result<AcquireOutcome> refused = client.ask({write("early")});
    ASSERT_FALSE(refused) << test::describe(refused);
    EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().message;
    EXPECT_TRUE(eventually([&] { return !client.inspect().quarantine; }, 3 * patience));
  }
};

// SEM 8, 20: no acknowledged hold is lost, no stamp is used again
TEST_P(ServerRestart, HoldsAndStampsSurvive) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  if (skip_unless(keeps_holds(), "holds that outlive a restart of the server")) return;
  Client c = client();
  limit_quarantine(c, 5s);
  Stamp highest;
  std::vector<Stamp> live;
  for (const Outage::Kind kind : both) {
    SCOPED_TRACE(to_string(kind));
    for (int i = 0; i < 5; ++i) {
      const std::string name = "n" + std::to_string(live.size());
      const Grant grant = c.take({write(name), read("r" + name)}, {.lease = 5min});
      EXPECT_GT(grant.stamp, highest);
      highest = grant.stamp;
      live.push_back(grant.stamp);
    }
    // Drawn, and its hold is gone: the stamp must not come back.
    const Grant gone = c.take({write("gone")});
    ASSERT_TRUE(c.release(gone.stamp));
    highest = gone.stamp;

    Outage(server(), kind).end();

    find_out(c);
    wait_out_quarantine(c);
    std::vector<Stamp> found;
    for (const RawHold& hold : space().look()) found.push_back(hold.stamp);
    EXPECT_EQ(found, live);
    EXPECT_FALSE(c.try_take({read("n0")}));
    const Grant next = c.take({write("next")});
    EXPECT_GT(next.stamp, highest);
    highest = next.stamp;
    EXPECT_TRUE(c.release(next.stamp));
  }
  for (const Stamp stamp : live) EXPECT_TRUE(c.release(stamp));
  EXPECT_TRUE(space().look().empty());
}

// SEM 8, 14: killed at any moment: acknowledged grants and releases are still in force
TEST_P(ServerRestart, WhatWasAcknowledgedBeforeAKillIsSo) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  if (skip_unless(keeps_holds(), "holds that outlive a restart of the server")) return;
  std::mutex mutex;
  std::set<Stamp> granted;
  std::set<Stamp> released;
  std::set<Stamp> doubtful;  // their release was requested, but not answered
  std::atomic<bool> stop = false;
  std::atomic<int> grants = 0;
  Client admin = client();
  limit_quarantine(admin, 1s);
  // Made before the first kill, because making one asks the server.
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.emplace_back(open(), "app" + std::to_string(i));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < clients.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          Client& c = clients[i];
          for (int n = 0; !stop; ++n) {
            const std::string name = std::to_string(i) + "-" + std::to_string(n);
            const Result<AcquireOutcome> outcome =
                c.ask({write(name), read("s" + name)}, {.lease = 5min});
            if (!outcome) {
              EXPECT_TRUE(is_trouble(outcome.error())) << outcome.error().message;
              test::linger(20ms);  // a refused connection is told at once
              continue;
            }
            const Stamp stamp = std::get<Grant>(*outcome).stamp;
            {
              const std::lock_guard lock(mutex);
              EXPECT_TRUE(granted.insert(stamp).second) << "a stamp was granted twice";
            }
            ++grants;
            if (n % 2 == 0) continue;
            const Result<bool> result = c.backend().release(stamp, c.owner().app, soon());
            const std::lock_guard lock(mutex);
            if (result) {
              EXPECT_TRUE(*result);
              released.insert(stamp);
            } else {
              EXPECT_TRUE(is_trouble(result.error())) << result.error().message;
              doubtful.insert(stamp);
            }
          }
        } catch (const std::exception& e) {
          ADD_FAILURE() << e.what();
        }
      });
    }
    for (int kills = 0; kills < 3; ++kills) {
      const int before = grants;
      EXPECT_TRUE(eventually([&] { return grants >= before + 40; }, 3 * patience)) << "no progress";
      Outage(server(), Outage::Kind::killed).end();
    }
    const int before = grants;
    EXPECT_TRUE(eventually([&] { return grants >= before + 40; }, 3 * patience)) << "no progress";
    stop = true;
  }
  std::set<Stamp> live;
  for (const RawHold& hold : space().look()) live.insert(hold.stamp);
  for (const Stamp stamp : granted) {
    if (doubtful.contains(stamp)) continue;
    EXPECT_EQ(live.contains(stamp), !released.contains(stamp)) << stamp.value;
  }
  RecordProperty("grants", grants);
}

// SEM 10, 13: holds that a manager keeps, and an acquire that waits, survive an outage that is
// shorter than their validity
TEST_P(ServerRestart, HoldsStayValidAndWaitersGoOnWaiting) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  for (const Outage::Kind kind : both) {
    SCOPED_TRACE(to_string(kind));
    const auto events = std::make_shared<EventCounts>();
    // Long enough for a server that starts slowly on a busy machine; a quarantine takes as long.
    const Duration lease = quarantines() ? 10s : 60s;
    Client admin = client();
    limit_quarantine(admin, lease);
    Locks mine = locks({.app = "mine", .lease = lease, .store_patience = 1min, .observer = events});
    Locks other = locks({.app = "other", .store_patience = 1min, .observer = events});
    Hold hold = mine.acquire({write("a"), read("b")}).value();
    Result<Hold> next = Error{Errc::internal, "not asked"};
    {
      std::jthread waiter([&] { next = other.acquire({write("b")}, {.wait = 1min}); });
      EXPECT_TRUE(eventually([&] { return events->busy >= 1; }));
      Outage(server(), kind).end();
      EXPECT_TRUE(hold.valid());
      EXPECT_TRUE(hold.renew()) << "by hand, after the restart";
      EXPECT_TRUE(hold.valid());
      const Status released = hold.release();
      EXPECT_TRUE(released) << released.error().message;
    }
    ASSERT_TRUE(next) << next.error().message;
    EXPECT_GT(next->stamp(), hold.stamp());
    EXPECT_TRUE(next->release());
    EXPECT_EQ(events->lost, 0);
    EXPECT_TRUE(space().look().empty());
  }
}

// SEM 10: renewals continue on their own after the outage
TEST_P(ServerRestart, RenewalsGoOn) {
  if (lacks_server()) return;
  if (skip_unless(traits().holds_outlive_connections, "holds that outlive connections")) return;
  const auto events = std::make_shared<EventCounts>();
  Locks mine = locks({.lease = 30s, .observer = events});
  Hold hold = mine.acquire({write("a")}).value();
  {
    const Outage outage(server(), Outage::Kind::killed);
    const Status renewed = hold.renew();
    ASSERT_FALSE(renewed);
    EXPECT_TRUE(is_trouble(renewed.error())) << renewed.error().message;
    EXPECT_TRUE(hold.valid());
  }
  const int before = events->renewed;
  EXPECT_TRUE(eventually([&] { return events->renewed > before; }, 30s));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(events->lost, 0);
}

// SEM 14: without a server: an error that says so, by the deadline, and nothing else
TEST_P(ServerRestart, WithoutAServerItIsUnavailable) {
  if (lacks_server()) return;
  Client c = client();
  const Grant grant = c.take({write("a")});
  {
    const Outage outage(server(), Outage::Kind::stopped);
    for (int i = 0; i < 3; ++i) {
      const Stopwatch watch;
      const Result<AcquireOutcome> outcome = c.ask_once({write("b")}, {.by = watch.began() + 1s});
      ASSERT_FALSE(outcome) << test::describe(outcome);
      EXPECT_TRUE(is_trouble(outcome.error())) << outcome.error().message;
      // The second call at the latest knows that there is no server to send to.
      if (i > 0) {
        EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
      }
      EXPECT_LT(watch.elapsed(), 1s + scheduling);
    }
    const Result<std::unique_ptr<Backend>> opened = space().open();
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unavailable) << opened.error().message;
  }
  find_out(c);
  EXPECT_EQ(c.is_live(grant.stamp), keeps_holds());
  EXPECT_EQ(c.release(grant.stamp), traits().holds_outlive_connections);
}

// SEM 13: a program that opens with patience while the server is away is open when the server is
// back
TEST_P(ServerRestart, WhoOpensWithPatienceWaitsForTheServer) {
  if (lacks_server()) return;
  // Otherwise somebody who has the space open has to put it back first.
  if (skip_unless(harness().harness_traits().keeps_after_restart,
                  "a space that outlives a restart"))
    return;
  for (const Outage::Kind kind : both) {
    SCOPED_TRACE(to_string(kind));
    Client admin = client();
    limit_quarantine(admin, 1s);
    const auto events = std::make_shared<EventCounts>();
    std::stop_source stop;
    Options patient{.app = "late", .open_patience = 10min, .observer = events};
    Options stopped = patient;
    stopped.stop_opening = stop.get_token();
    Result<Locks> opened = Error{Errc::internal, "not asked"};
    Result<Locks> cancelled = Error{Errc::internal, "not asked"};
    Outage outage(server(), kind);
    {
      std::jthread opener([&] { opened = lockset::open(space().url(), patient); });
      EXPECT_TRUE(eventually([&] { return events->retried >= 1; }));
      {
        std::jthread other([&] { cancelled = lockset::open(space().url(), stopped); });
        const int before = events->retried;
        EXPECT_TRUE(eventually([&] { return events->retried > before; }));
        stop.request_stop();
      }
      ASSERT_FALSE(cancelled);
      EXPECT_EQ(cancelled.error().code, Errc::cancelled) << cancelled.error().message;
      outage.end();
    }
    ASSERT_TRUE(opened) << opened.error().message;
    Result<Hold> hold = opened->acquire({write("a")}, {.wait = 1min});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->release());
  }
}

LOCKSET_CONFORMANCE_SUITE(ServerRestart);

}  // namespace
}  // namespace lockset::conformance
