// SEM 10, 14: a hold lives in a session. What happens if the session ends, or can't be reached.
#include <thread>
#include <vector>

#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/session_end.h"

namespace lockset::zookeeper_tests {
namespace {

class Session : public ZookeeperTest {
 protected:
  void SetUp() override {
    ZookeeperTest::SetUp();
    if (!IsSkipped() && !HasFatalFailure()) {
      proxy_ = std::make_unique<test::TcpProxy>(server().port());
    }
  }
  [[nodiscard]] std::string proxied() const { return url_through(proxy_->port()); }
  test::TcpProxy& proxy() { return *proxy_; }
  // For a client that uses the proxy. It must not reconnect meanwhile: then the server sometimes
  // forgets to tell it.
  void end_session(std::int64_t id) {
    proxy_->refuse();
    test::end_session(server().port(), id);
    proxy_->heal();
  }

 private:
  std::unique_ptr<test::TcpProxy> proxy_;
};

TEST_F(Session, WhatEndsWithItIsToldAndNotRenewed) {
  const auto counts = std::make_shared<EventCounts>();
  Locks mine = lockset::open(proxied(), {.app = "app", .lease = 3s, .observer = counts}).value();
  Hold hold = mine.acquire({write("a"), read("b")}).value();
  const std::stop_token lost = hold.lost();
  ASSERT_EQ(view().owners().size(), 1U);
  end_session(*view().owners().begin());
  ASSERT_TRUE(view().traces().empty());
  Client other = client("other");
  EXPECT_GT(other.take({write("a"), read("b")}).stamp, hold.stamp());
  EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(counts->lost, 1);
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::not_held) << renewed.error().message;
  // In another session.
  const Result<Hold> next = mine.acquire({write("c")});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(other.holds().size(), 2U);
}

// A separate lease for each hold, one after another: an empty session makes room.
TEST_F(Session, MoreLeasesThanSessionsFollowEachOther) {
  Client mine(open_backend(url("pool=3"), soon()).value(), "mine");
  const Stamp kept = mine.take({write("kept")}, {.lease = 20s}).stamp;
  for (int i = 0; i < 8; ++i) {
    const Grant grant = mine.take({write("a")}, {.lease = 10s + i * 7ms});
    EXPECT_TRUE(mine.release(grant.stamp));
  }
  EXPECT_TRUE(mine.is_live(kept));
  // Sessions with holds stay, and then there is no room.
  mine.take({write("b")}, {.lease = 11s});
  mine.take({write("c")}, {.lease = 12s});
  const auto refused = mine.ask_once({write("d")}, {.lease = 13s});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(says(refused.error().message, "(parameter pool)")) << refused.error().message;
  EXPECT_EQ(mine.holds().size(), 3U);
}

// The client library wants addresses without brackets.
TEST_F(Session, AnIpv6AddressIsUnderstood) {
  const std::string port = std::to_string(server().port());
  for (const std::string& more : {std::string(), ",127.0.0.1:" + port}) {
    Client mine(
        open_backend(
            "zookeeper://[::ffff:127.0.0.1]:" + port + more + "?space=" + space().substr(1), soon())
            .value());
    EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
  }
  const std::string absent = "zookeeper://[::ffff:127.0.0.1]:1?connect_timeout=300ms";
  const std::string message = refused(absent, Errc::unavailable);
  EXPECT_TRUE(says(message, "[::ffff:127.0.0.1]:1")) << message;
}

// A server that was just starting may never answer a client that came too early. Replacing a new
// session loses nothing; the client library tries again after 2/3 of its timeout.
TEST_F(Session, ANewOneThatIsIgnoredIsGivenUpForAnother) {
  test::TcpProxy silent(server().port());
  silent.black_hole(test::TcpProxy::Way::both);
  // The first connection that `ask` makes is never answered, the later ones are.
  const auto first_ignored = [&](const auto& ask) {
    proxy().reset_counts();
    proxy().forward_to(silent.port());
    const std::jthread asking(ask);
    EXPECT_TRUE(eventually([&] { return proxy().connections() > 0; }));
    proxy().forward_to(server().port());
  };
  Result<std::unique_ptr<Backend>> opened = Error{Errc::internal, "not asked"};
  first_ignored([&] { opened = open_backend(proxied() + "&session_timeout=10m", soon()); });
  ASSERT_TRUE(opened) << opened.error().message;
  Client mine(*std::move(opened));
  first_ignored([&] { EXPECT_TRUE(mine.ask({write("a")}, {.lease = 5min}).ok()); });
  EXPECT_EQ(mine.holds().size(), 1U);
  EXPECT_EQ(view().owners().size(), 1U);
}

// The core's next renewal reports it, not only the end of its lease.
TEST_F(Session, ItsEndIsTheAnswerToARenewal) {
  Client mine(open_backend(proxied(), soon()).value());
  const Stamp gone = mine.take({write("a")}, {.lease = 5s}).stamp;
  const std::int64_t session = *view().owners().begin();
  const Stamp kept = mine.take({write("b")}, {.lease = 7s}).stamp;
  ASSERT_EQ(view().owners().size(), 2U) << "one for each lease";
  end_session(session);
  ASSERT_EQ(view().owners().size(), 1U);
  EXPECT_FALSE(mine.renew(gone, 5s));
  EXPECT_FALSE(mine.release(gone));
  EXPECT_TRUE(mine.renew(kept, 7s)) << "of another session";
  EXPECT_TRUE(mine.is_live(kept));
  EXPECT_GT(mine.take({write("a")}, {.lease = 5s}).stamp, kept);
}

// SEM 13: a waiter whose place in the queue is gone is told to look, and gets another one
TEST_F(Session, AWaiterQueuesUpAgain) {
  Client holder = client("holder");
  Client waiter(open_backend(proxied(), soon()).value(), "waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::shared_ptr<WaitTicket> ticket = waiter.meet_busy({write("a")}, {.will_wait = true}).ticket;
  const std::string queue = root() + "/queues/a";
  const auto places = raw().children(queue);
  ASSERT_EQ(places.size(), 2U) << "in the line and in the queue";
  end_session(raw().get(queue + "/" + places.front())->owner);
  ASSERT_TRUE(raw().children(queue).empty());
  const TimePoint until = BootClock::now() + long_time;
  static_cast<void>(waiter.backend().await_change(*ticket, until, {}).ok());
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  ticket = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = ticket}).ticket;
  EXPECT_EQ(raw().children(queue).size(), 2U);
  EXPECT_TRUE(holder.release(stamp));
  EXPECT_TRUE(waiter.backend().await_change(*ticket, until, {}));
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  waiter.take({write("a")}, {.ticket = ticket});
  EXPECT_TRUE(raw().children(queue).empty());
}

// SEM 10, 20: a client that can't reach a server gives up before the server gives it up
TEST_F(Session, OneCutOffIsNoLongerValidWhenTheServerLetsTheNextIn) {
  const auto counts = std::make_shared<EventCounts>();
  Locks mine =
      lockset::open(proxied(), {.app = "app", .lease = 4s, .io_timeout = 1s, .observer = counts})
          .value();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_TRUE(eventually([&] { return counts->renewed > 0; }));
  proxy().black_hole(test::TcpProxy::Way::both);
  ASSERT_TRUE(eventually([&] { return !hold.valid(); }));
  EXPECT_FALSE(view().traces().empty()) << "the session ended first";
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  Client other = client("other");
  std::optional<Grant> next;
  EXPECT_TRUE(eventually([&] { return (next = other.try_take({write("a")})).has_value(); }));
  ASSERT_TRUE(next);
  EXPECT_GT(next->stamp, hold.stamp());
  proxy().heal();
  // SEM 10: never renewed after its end; and the client continues on its own.
  const Status renewed = hold.renew();
  EXPECT_FALSE(renewed);
  const Result<Hold> again = mine.acquire({write("b")}, {.wait = 30s});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(other.is_live(next->stamp));
  EXPECT_EQ(counts->lost, 1);
}

// SEM 14: the client library ends a connection with answers out of order, with a separate code for
// the request. The reply is as lost as with any other connection.
TEST_F(Session, AnAnswerOutOfOrderLeavesItsRequestInDoubt) {
  constexpr std::size_t number = 7;  // the last byte of the request's number, after the length
  Client mine(open_backend(proxied(), soon()).value());
  // Then it knows the name, and its next request is the one for the hold.
  for (int i = 0; i < 2; ++i) mine.release(mine.take({write("a")}).stamp);
  const Token token = Token::random();
  proxy().change_next_reply(number);
  const auto outcome = mine.ask_once({write("a")}, {.token = token});
  EXPECT_TRUE(proxy().caught());
  ASSERT_FALSE(outcome) << test::describe(outcome);
  EXPECT_TRUE(outcome.error().may_have_applied()) << outcome.error().message;
  const std::optional<Grant> grant = mine.resolve(token);
  ASSERT_TRUE(grant) << "it was granted";
  EXPECT_TRUE(mine.release(grant->stamp));
  // A call that only reads is repeated.
  proxy().change_next_reply(number);
  EXPECT_TRUE(mine.backend().inspect({}, soon()));
  EXPECT_TRUE(proxy().caught());
  EXPECT_TRUE(view().traces().empty());
}

// SEM 14: an earlier "not there" is not the final answer for a request that is under way: its later
// grant belongs to this client; otherwise nobody would end it before its session.
TEST_F(Session, ALateGrantIsOwnedByWhoAsksForItWhileItArrives) {
  Client mine(open_backend(proxied(), soon()).value());
  int late = 0;
  for (int round = 0; round < 12; ++round) {
    // Then it knows the name, and its next request is the one for the hold.
    for (int i = 0; i < 2; ++i) mine.release(mine.take({write("a")}).stamp);
    const Token token = Token::random();
    EXPECT_FALSE(mine.resolve(token));
    proxy().hold_next_request();
    const auto outcome =
        mine.ask_once({write("a")}, {.token = token, .by = BootClock::now() + 200ms});
    // Threads share a backend, not a Client.
    const HoldRef attempt = mine.known(token);
    const auto granted = [&] {
      return mine.backend().resolve(attempt, soon()).value().has_value();
    };
    std::vector<std::jthread> asking;
    for (int i = 0; i < 4; ++i) {
      asking.emplace_back([&] { EXPECT_TRUE(eventually(granted)); });
    }
    ASSERT_EQ(proxy().deliver_held(), 1U);
    asking.clear();
    if (!outcome) ++late;  // otherwise a ping was held
    const std::optional<Grant> found = mine.resolve(token);
    ASSERT_TRUE(found);
    EXPECT_GT(found->lease, 0s) << "it is nobody's any more, in round " << round;
    EXPECT_TRUE(mine.release(found->stamp));
  }
  EXPECT_GT(late, 6);
  EXPECT_TRUE(view().traces().empty());
}

}  // namespace
}  // namespace lockset::zookeeper_tests
