// SEM 10, 14, 20 if the server or the network hangs: connections stay open, and nobody answers.
#include <thread>

#include "tests/conformance/server_suite.h"

namespace lockset::conformance {
namespace {

class ServerHang : public ServerConformance {
 protected:
  // Each call returns by its deadline, with an error that means that a retry may help, or that the
  // call may have been applied.
  static void expect_deadlines_kept(Client& c, Stamp stamp) {
    const auto expect = [](const std::string& call, const auto& ask) {
      SCOPED_TRACE(call);
      const Stopwatch watch;
      const auto result = ask(watch.began() + 300ms);
      EXPECT_LT(watch.elapsed(), 300ms + scheduling);
      ASSERT_FALSE(result);
      EXPECT_TRUE(is_trouble(result.error())) << result.error().message;
    };
    Backend& backend = c.backend();
    expect("try_acquire",
           [&](TimePoint by) { return c.ask_once({write("late")}, {.lease = 1s, .by = by}); });
    // Without its connection no attempt has become a hold: no server is asked.
    if (c.backend().traits().holds_outlive_connections) {
      expect("resolve", [&](TimePoint by) { return backend.resolve(Token::random(), by); });
    }
    expect("renew", [&](TimePoint by) {
      const RenewRequest request{stamp, 1s};
      return backend.renew(c.owner(), {&request, 1}, by);
    });
    expect("release", [&](TimePoint by) { return backend.release(Stamp{1}, "app", by); });
    expect("break_hold", [&](TimePoint by) { return backend.break_hold(Stamp{1}, by); });
    expect("inspect", [&](TimePoint by) { return backend.inspect({}, by); });
    expect("load_config", [&](TimePoint by) { return backend.load_config(by); });
    expect("change_config", [&](TimePoint by) {
      return backend.change_config(SetPermits{"late", Mode::read, max_permits}, by);
    });
    expect("sweep", [&](TimePoint by) { return backend.sweep(by); });
  }

  // Without opening the client again.
  static void expect_recovery(Client& c) {
    EXPECT_TRUE(eventually([&] {
      const Result<AcquireOutcome> outcome = c.ask({write("late"), write("after")});
      if (!outcome) {
        EXPECT_TRUE(is_trouble(outcome.error())) << outcome.error().message;
        return false;
      }
      // Busy: an earlier request arrived late. Its hold ends with its lease.
      return std::holds_alternative<Grant>(*outcome);
    }));
  }
};

// SEM 14: calls return by their deadline while the server hangs
TEST_P(ServerHang, CallsReturnByTheirDeadline) {
  if (lacks_server()) return;
  Client c = client();
  const Grant grant = c.take({write("a")});
  {
    const Outage outage(server(), Outage::Kind::paused);
    expect_deadlines_kept(c, grant.stamp);
    const Stopwatch watch;
    const Result<std::unique_ptr<Backend>> opened =
        open_backend(space().url(), watch.began() + 500ms);
    EXPECT_LT(watch.elapsed(), 500ms + scheduling);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::unavailable) << opened.error().message;
  }
  expect_recovery(c);
}

// SEM 14: the same while the network swallows everything
TEST_P(ServerHang, CallsReturnByTheirDeadlineInABlackHole) {
  if (lacks_server()) return;
  for (const TcpProxy::Way way : {TcpProxy::Way::to_server, TcpProxy::Way::to_client}) {
    Client c(proxied());
    // Longer than the earlier calls take: an answer about an ended lease needs no server.
    const Grant grant = c.take({write("a")}, {.lease = 30s});
    proxy().black_hole(way);
    expect_deadlines_kept(c, grant.stamp);
    proxy().heal();
    expect_recovery(c);
    for (const HoldInfo& hold : c.holds()) c.break_hold(hold.stamp);
  }
}

// SEM 10: "even while the network hangs": validity ends on time, and lost() fires
TEST_P(ServerHang, ValidityEndsOnTime) {
  if (lacks_server()) return;
  Locks mine = locks({.app = "mine", .lease = 2s, .io_timeout = 1s});
  Hold hold = mine.acquire({write("a"), read("b")}, {.wait = 10s}).value();
  TimePoint until;
  {
    const Outage outage(server(), Outage::Kind::paused);
    ASSERT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
    EXPECT_FALSE(hold.valid());
    EXPECT_EQ(hold.lost_reason(), LostReason::expired);
    until = BootClock::now();
  }
  EXPECT_FALSE(hold.valid()) << "it came back";
  // SEM 10, 20: another client gets the set soon, because nobody renews it any more.
  Locks other = locks({.app = "other"});
  Hold next = other.acquire({write("a")}, {.wait = 10s}).value();
  EXPECT_GT(next.stamp(), hold.stamp());
  EXPECT_FALSE(hold.valid());
  const Status released = hold.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Errc::not_held);
  EXPECT_TRUE(next.renew()) << "the late release touched it";
  // The manager still works.
  EXPECT_TRUE(mine.acquire({write("c")}, {.wait = 10s}));
}

// SEM 20: of two clients that want the same set, never both are valid, whatever the network does to
// one of them
TEST_P(ServerHang, ABlackHoleMakesNoTwoHolders) {
  if (lacks_server()) return;
  Locks mine = proxied_locks({.app = "mine", .lease = 2s, .io_timeout = 1s});
  Locks other = locks({.app = "other", .lease = 30s});
  for (const TcpProxy::Way way : {TcpProxy::Way::to_server, TcpProxy::Way::to_client}) {
    Hold hold = mine.acquire({write("a")}, {.wait = 20s}).value();
    const TimePoint until = hold.valid_until();
    proxy().black_hole(way);
    Hold next = other.acquire({write("a")}, {.wait = 20s}).value();
    EXPECT_FALSE(hold.valid());
    EXPECT_GT(BootClock::now(), until);
    EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
    proxy().heal();
    EXPECT_TRUE(next.valid());
    EXPECT_TRUE(next.renew()) << "a late renewal revived the other";
    EXPECT_TRUE(next.release());
  }
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = 20s}));
}

// SEM 10: a hang that is shorter than the rest of the lease loses nothing
TEST_P(ServerHang, AShortHangLosesNothing) {
  if (lacks_server()) return;
  const auto events = std::make_shared<EventCounts>();
  Locks mine = locks({.app = "mine", .lease = 60s, .io_timeout = 2s, .observer = events});
  Hold hold = mine.acquire({write("a")}, {.wait = 10s}).value();
  {
    const Outage outage(server(), Outage::Kind::paused);
    const Stopwatch watch;
    const Status renewed = hold.renew();
    EXPECT_LT(watch.elapsed(), 2s + scheduling);
    ASSERT_FALSE(renewed);
    EXPECT_TRUE(is_trouble(renewed.error())) << renewed.error().message;
    EXPECT_TRUE(hold.valid());
  }
  EXPECT_TRUE(eventually([&] { return hold.renew().ok(); }));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(events->lost, 0);
  EXPECT_TRUE(hold.release());
}

// SEM 13: a waiting acquire keeps its deadline
TEST_P(ServerHang, AWaitingAcquireKeepsItsDeadline) {
  if (lacks_server()) return;
  const auto events = std::make_shared<EventCounts>();
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")}, {.lease = 5min});
  Locks mine = proxied_locks({.app = "mine", .io_timeout = 500ms, .observer = events});
  Result<Hold> result = Error{Errc::internal, "not asked"};
  Duration took{};
  {
    std::jthread waiter([&] {
      const Stopwatch watch;
      result = mine.acquire({write("a")}, {.wait = 2s});
      took = watch.elapsed();
    });
    EXPECT_TRUE(eventually([&] { return events->busy >= 1; }));
    proxy().black_hole(TcpProxy::Way::both);
  }
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().code == Errc::timeout || is_trouble(result.error()))
      << result.error().message;
  // After its deadline it may still need the time for its last answer and for leaving the queue.
  EXPECT_LT(took, 2s + 2 * 500ms + scheduling);
  proxy().heal();
  EXPECT_TRUE(holder.release(grant.stamp));
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = 10s}));
}

LOCKSET_CONFORMANCE_SUITE(ServerHang);

}  // namespace
}  // namespace lockset::conformance
