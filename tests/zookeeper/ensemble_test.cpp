// Three servers, some of which are killed or hang.
#include <zookeeper/zookeeper.h>

#include <functional>
#include <thread>

#include "tests/support/requirement.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/session_end.h"

namespace lockset::zookeeper_tests {
namespace {

class Ensemble : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_server("zookeeper-ensemble")) return;
    // Clients use the servers in the order of the address.
    zoo_deterministic_conn_order(1);
    space_ = "t" + Token::random().hex().substr(0, 20);
    leader_ = ensemble().leader();
    follower_ = leader_ % 3 + 1;
    third_ = follower_ % 3 + 1;
    init_space(url({1, 2, 3}), soon()).value();
  }
  // Whatever the test did, all three run again afterwards.
  void TearDown() override {
    undo();
    if (leader_ != 0) static_cast<void>(ensemble().leader());  // waits until there is one
    zoo_deterministic_conn_order(0);
  }

  void kill(int member) {
    ensemble().kill(member);
    undo_.emplace_back([member] { ensemble().start(member); });
  }
  void pause(int member) {
    ensemble().pause(member);
    undo_.emplace_back([member] { ensemble().resume(member); });
  }
  void undo() {
    for (const auto& undo : undo_) undo();
    undo_.clear();
  }

  // The address of these members, in this order.
  [[nodiscard]] std::string url(const std::vector<int>& members) const {
    std::vector<std::uint16_t> ports;
    for (const int member : members) ports.push_back(ensemble().port(member));
    return url_through(ports);
  }
  [[nodiscard]] std::string url_through(const std::vector<std::uint16_t>& ports) const {
    std::string hosts;
    for (const std::uint16_t port : ports) {
      hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    }
    return "zookeeper://" + hosts + "?space=" + space_;
  }
  [[nodiscard]] const std::string& space() const { return space_; }
  [[nodiscard]] Client client(const std::string& app, const std::vector<int>& members) const {
    return Client(open_backend(url(members), soon()).value(), app);
  }
  // Repeats until the servers have settled. Errors must be of a kind that allows a retry.
  static AcquireOutcome ask(Client& client, const Wanted& wanted, const test::Ask& ask = {}) {
    std::optional<AcquireOutcome> outcome;
    eventually(
        [&] {
          auto answer = client.ask(wanted, ask);
          if (answer) {
            outcome = *std::move(answer);
          } else {
            const Error& error = answer.error();
            EXPECT_TRUE(error.retryable() || error.may_have_applied()) << error.message;
          }
          return outcome.has_value();
        },
        long_time);
    if (!outcome) throw std::runtime_error("no answer from the ensemble");
    return *outcome;
  }
  static Grant take(Client& client, const Wanted& wanted) {
    return std::get<Grant>(ask(client, wanted));
  }
  static void expect_held_by(Client& other, const Wanted& wanted, Stamp holder) {
    const AcquireOutcome outcome = ask(other, wanted);
    const Busy* busy = std::get_if<Busy>(&outcome);
    ASSERT_NE(busy, nullptr) << "granted twice";
    EXPECT_EQ(busy->holder, holder);
  }

  int leader_ = 0;
  int follower_ = 0;
  int third_ = 0;

 private:
  std::string space_;
  std::vector<std::function<void()>> undo_;
};

// SEM 8, 10, 14: the hold continues, for its client and for all others
TEST_F(Ensemble, AHoldOutlivesTheLeader) {
  const auto counts = std::make_shared<EventCounts>();
  // Both cases for a client: its own server dies, or its server loses the leader.
  Locks mine = lockset::open(url({leader_, follower_, third_}),
                             {.app = "mine", .lease = 15s, .observer = counts})
                   .value();
  Client other = client("other", {third_, follower_});
  Hold hold = mine.acquire({write("a"), read("b")}).value();
  const Grant theirs = other.take({write("c")}, {.lease = 30s});
  expect_held_by(other, {write("a")}, hold.stamp());
  kill(leader_);
  expect_held_by(other, {write("a")}, hold.stamp());
  const Stamp next = take(other, {write("d")}).stamp;
  EXPECT_GT(next, hold.stamp());
  EXPECT_GT(next, theirs.stamp);
  const int before = counts->renewed;
  EXPECT_TRUE(eventually([&] { return counts->renewed > before; }, 14s));
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(counts->lost, 0);
  EXPECT_TRUE(other.renew(theirs.stamp, 30s));
  expect_held_by(other, {write("b")}, hold.stamp());
  const Result<Hold> more = mine.acquire({write("e")}, {.wait = 30s});
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_GT(more->stamp(), next);
  const Status released = hold.release();
  EXPECT_TRUE(released) << released.error().message;
  EXPECT_GT(take(other, {write("a"), write("b")}).stamp, more->stamp());
}

// SEM 29: and may be upgraded, in its session, over the next connection
TEST_F(Ensemble, AHoldIsUpgradedAfterTheLeader) {
  Locks mine = lockset::open(url({leader_, follower_, third_}),
                             {.app = "mine", .lease = 60s, .io_timeout = long_time})
                   .value();
  Client other = client("other", {third_, follower_});
  Hold hold = mine.acquire({read("a"), write("b")}).value();
  SpaceView view("127.0.0.1:" + std::to_string(ensemble().port(third_)), "/" + space());
  const std::set<std::int64_t> owners = view.owners();
  kill(leader_);
  auto upgraded = hold.try_upgrade();
  ASSERT_TRUE(upgraded.ok()) << upgraded.error().message;
  std::optional<Hold> writer = *std::move(upgraded);
  ASSERT_TRUE(writer);
  EXPECT_TRUE(writer->valid());
  EXPECT_FALSE(hold.valid());
  expect_held_by(other, {read("a")}, writer->stamp());
  EXPECT_EQ(view.owners(), owners);
  const Status renewed = writer->renew();
  EXPECT_TRUE(renewed) << renewed.error().message;
  auto downgraded = writer->downgrade();
  ASSERT_TRUE(downgraded.ok()) << downgraded.error().message;
  ASSERT_TRUE(*downgraded);
  EXPECT_TRUE((*downgraded)->release());
  EXPECT_GT(take(other, {write("a"), write("b")}).stamp, writer->stamp());
}

// SEM 10, 14: without a majority there are no grants, and no hold is trusted for long; a server
// that only answers reads is not used
TEST_F(Ensemble, WithoutAMajorityNobodyHolds) {
  const auto counts = std::make_shared<EventCounts>();
  const std::string all = url({follower_, leader_, third_});
  Locks mine =
      lockset::open(all, {.app = "mine", .lease = 4s, .io_timeout = 1s, .observer = counts})
          .value();
  Client other = client("other", {follower_, leader_, third_});
  Hold hold = mine.acquire({write("a")}).value();
  kill(leader_);
  kill(third_);
  ASSERT_TRUE(eventually([&] { return !hold.valid(); }));
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(counts->lost, 1);
  for (int i = 0; i < 2; ++i) {
    const test::Stopwatch watch;
    const auto outcome = other.ask_once({write("b")}, {.by = watch.began() + 1s});
    ASSERT_FALSE(outcome) << test::describe(outcome);
    EXPECT_EQ(outcome.error().code, Errc::unavailable) << outcome.error().message;
    EXPECT_LT(watch.elapsed(), 1s + 2s);
    const auto config = other.backend().load_config(BootClock::now() + 1s);
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().code, Errc::unavailable) << config.error().message;
  }
  const auto opened = open_backend(all, BootClock::now() + 1s);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unavailable) << opened.error().message;
  undo();
  const Stamp next = take(other, {write("b")}).stamp;
  EXPECT_GT(next, hold.stamp());
  // Its own client removes the lost hold, or its session's end does.
  std::optional<Stamp> taken;
  EXPECT_TRUE(eventually(
      [&] {
        const AcquireOutcome outcome = ask(other, {write("a")});
        if (const Grant* grant = std::get_if<Grant>(&outcome)) taken = grant->stamp;
        return taken.has_value();
      },
      long_time));
  EXPECT_GT(taken, next);
  EXPECT_FALSE(hold.renew());
  const Result<Hold> again = mine.acquire({write("c")}, {.wait = 30s});
  ASSERT_TRUE(again) << again.error().message;
}

// SEM 10, 14, 20: a hanging leader is replaced. A client that is connected to it and does not know
// that loses its hold in time; other clients continue.
TEST_F(Ensemble, APausedLeaderIsLeftBehind) {
  const auto stays = std::make_shared<EventCounts>();
  const auto leaves = std::make_shared<EventCounts>();
  Locks mine =
      lockset::open(url({follower_, third_}), {.app = "mine", .lease = 25s, .observer = stays})
          .value();
  Locks hung = lockset::open(url({leader_}),
                             {.app = "hung", .lease = 3s, .io_timeout = 1s, .observer = leaves})
                   .value();
  Client other = client("other", {third_, follower_});
  Hold kept = mine.acquire({write("kept")}).value();
  Hold gone = hung.acquire({write("gone")}).value();
  pause(leader_);
  EXPECT_NE(ensemble().leader(), leader_);
  expect_held_by(other, {write("kept")}, kept.stamp());
  std::optional<Stamp> next;
  EXPECT_TRUE(eventually(
      [&] {
        const AcquireOutcome outcome = ask(other, {write("gone")});
        if (const Grant* grant = std::get_if<Grant>(&outcome)) next = grant->stamp;
        if (next) {
          EXPECT_FALSE(gone.valid()) << "two at once";
        }
        return next.has_value();
      },
      long_time));
  EXPECT_GT(next, kept.stamp());
  const int before = stays->renewed;
  EXPECT_TRUE(eventually([&] { return stays->renewed > before; }, 24s));
  EXPECT_TRUE(kept.valid());
  EXPECT_EQ(stays->lost, 0);
  undo();
  EXPECT_TRUE(eventually([&] { return leaves->lost == 1; }));
  const Result<Hold> again = hung.acquire({write("again")}, {.wait = 30s});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_GT(again->stamp(), *next);
  EXPECT_FALSE(gone.renew());
  EXPECT_TRUE(other.is_live(*next));
}

// SEM 10, 20: a leader that was stopped for longer than an election and then continues does not
// know yet that nobody follows it. Its answer must not renew a hold that has ended on the other
// servers.
TEST_F(Ensemble, ADeposedLeaderRenewsNothing) {
  test::TcpProxy proxy(ensemble().port(leader_));
  Client bound(open_backend(url_through({proxy.port()}), soon()).value(), "bound");
  Client other = client("other", {third_, follower_});
  const Stamp gone = take(bound, {write("a")}).stamp;
  // Renewed once, so that the next renewal is nothing new to it.
  ASSERT_TRUE(bound.renew(gone, 1min));
  SpaceView view("127.0.0.1:" + std::to_string(ensemble().port(third_)), "/" + space());
  const std::set<std::int64_t> owners = view.owners();
  ASSERT_EQ(owners.size(), 1U);
  pause(leader_);
  const int next_leader = ensemble().leader();
  ASSERT_NE(next_leader, leader_);
  // As if its session's time were over.
  test::end_session(ensemble().port(next_leader), *owners.begin());
  const Stamp next = take(other, {write("a")}).stamp;
  EXPECT_GT(next, gone);
  // The request waits for the old leader, which answers before it checks its followers.
  proxy.hold_next_request();
  const RenewRequest request{gone, 1min};
  Result<RenewReply> reply = Error{Errc::internal, "not asked"};
  {
    const std::jthread asking([&] {
      reply = bound.backend().renew(bound.owner(), {&request, 1}, BootClock::now() + long_time);
    });
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
    proxy.deliver_held();
    proxy.heal();
    undo();
  }
  if (reply) {
    EXPECT_FALSE(reply->renewals.at(0)) << "two at once";
  }
  EXPECT_TRUE(other.is_live(next));
  EXPECT_FALSE(bound.renew(gone, 1min));
}

// SEM 27: nor does it say that nothing was written.
TEST_F(Ensemble, ADeposedLeaderShowsNoTraces) {
  test::TcpProxy proxy(ensemble().port(leader_));
  Client bound(open_backend(url_through({proxy.port()}), soon()).value(), "bound");
  Client other = client("other", {third_, follower_});
  const Trace seen = bound.observe_one("a");
  pause(leader_);
  ASSERT_NE(ensemble().leader(), leader_);
  const Stamp written = take(other, {write("a")}).stamp;
  EXPECT_GT(written, seen.last_write);
  // The request waits for the old leader, which answers before it checks its followers.
  proxy.hold_next_request();
  const std::vector<std::string> names{"a"};
  Result<ObserveOutcome> outcome = Error{Errc::internal, "not asked"};
  {
    const std::jthread asking([&] {
      outcome =
          bound.backend().observe({names, bound.config().version, BootClock::now() + long_time});
    });
    EXPECT_TRUE(eventually([&] { return proxy.caught(); }));
    proxy.deliver_held();
    proxy.heal();
    undo();
  }
  if (outcome) {
    EXPECT_EQ(std::get<std::vector<Trace>>(*outcome).at(0).last_write, written);
  }
  EXPECT_EQ(other.observe_one("a").last_write, written);
}

}  // namespace
}  // namespace lockset::zookeeper_tests
