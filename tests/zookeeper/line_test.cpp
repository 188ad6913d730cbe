// SEM 13: waiters stand in line for their names, and are overtaken at most as often as the space
// says: what only this store does for that.
#include <thread>

#include "backends/line_times.h"
#include "tests/support/tcp_proxy.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

class LineTest : public ZookeeperTest {
 protected:
  static void bound(std::uint32_t most, const std::vector<Client*>& clients) {
    clients.front()->change(SetMaxOvertakes{most});
    for (Client* each : clients) each->reload();
  }
  static std::shared_ptr<WaitTicket> wait_for(Client& client, const Wanted& wanted,
                                              std::shared_ptr<WaitTicket> ticket = {}) {
    return client.meet_busy(wanted, {.will_wait = true, .ticket = std::move(ticket)}).ticket;
  }
  static bool is_kept(const Result<AcquireOutcome>& outcome) {
    const Busy* const busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr;
    return busy != nullptr && !busy->holder;
  }
  // How often the only waiter was overtaken.
  int overtaken() {
    for (const std::string& waiter : raw().children(root() + "/queues/.waiters")) {
      if (waiter.ends_with("-call")) continue;
      if (const auto node = raw().get(root() + "/queues/.waiters/" + waiter)) return node->version;
    }
    return -1;
  }
};

// Two grants on different names of a waiter, at the same time: only one of them was left. If the
// slow one has not read the line yet, or was granted already, nothing is known, and the test begins
// again.
TEST_F(LineTest, TheLaterOfTwoDoesNotExceedTheBound) {
  test::TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client quick = client("quick");
  Client holder = client("holder");
  Client waiter = client("waiter");
  bound(1, {&holder, &slow, &quick, &waiter});
  holder.take({write("held")});
  EXPECT_TRUE(slow.release(slow.take({write("to get the sessions ready")}).stamp));
  bool conclusive = false;
  for (int i = 0; i < 40 && !conclusive && !HasFailure(); ++i) {
    const std::string a = "a" + std::to_string(i);
    const std::string b = "b" + std::to_string(i);
    const std::shared_ptr<WaitTicket> ticket =
        wait_for(waiter, {write(a), write(b), write("held")});
    // It asks for the name, for the line, for how often those in it were overtaken, and then for
    // the lock.
    proxy.far(100ms);
    std::optional<Result<AcquireOutcome>> later;
    std::thread asking([&] { later = slow.ask({write(a)}); });
    test::linger(std::chrono::milliseconds(210 + 10 * (i % 8)));
    const Result<AcquireOutcome> sooner = quick.ask({write(b)});
    asking.join();
    proxy.far(0ms);
    EXPECT_LE(overtaken(), 1);
    ASSERT_TRUE(sooner && *later);
    const Busy* const busy = std::get_if<Busy>(&**later);
    conclusive = busy != nullptr && busy->collisions > 0 && is_kept(*later);
    waiter.backend().end_wait(*ticket, soon());
  }
  EXPECT_TRUE(conclusive) << "nothing was tested";
}

// The name is free, and the queue wakes a waiter that may not have it. That calls the one that may.
TEST_F(LineTest, WhoIsKeptOutCallsTheOneInFront) {
  Client holder = client("holder");
  Client older = client("older");
  Client younger = client("younger");
  bound(0, {&holder, &older, &younger});
  const Stamp a = holder.take({write("a")}).stamp;
  const Stamp z = holder.take({write("z")}).stamp;
  const Wanted both{write("a"), write("z")};
  std::shared_ptr<WaitTicket> first = wait_for(older, both);
  std::shared_ptr<WaitTicket> second = wait_for(younger, {write("z")});
  EXPECT_TRUE(holder.release(a));
  const TimePoint until = BootClock::now() + long_time;
  EXPECT_TRUE(older.backend().await_change(*first, until, {}));
  first = wait_for(older, both, first);  // behind the other one in the queue of z
  std::atomic<bool> granted = false;
  std::thread waiting([&] {
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(older.backend().await_change(*first, began + 20s, {}));
    EXPECT_LT(BootClock::now() - began, 20s) << "nobody called";
    EXPECT_TRUE(older.take(both, {.will_wait = true, .ticket = first}).stamp);
    granted = true;
  });
  EXPECT_TRUE(holder.release(z));
  EXPECT_TRUE(younger.backend().await_change(*second, until, {}));
  const auto outcome = younger.ask({write("z")}, {.will_wait = true, .ticket = second});
  waiting.join();
  EXPECT_TRUE(granted);
  const Busy* const busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr;
  ASSERT_NE(busy, nullptr) << test::describe(outcome);
  younger.backend().end_wait(*busy->ticket, soon());
}

// Its end is all that the other one waits for, in the queue of a name that blocked neither.
TEST_F(LineTest, WhoGivesUpWakesThoseWhomItKeptOut) {
  Client holder = client("holder");
  Client quitter = client("quitter");
  Client next = client("next");
  bound(0, {&holder, &quitter, &next});
  holder.take({write("held")});
  const std::shared_ptr<WaitTicket> first = wait_for(quitter, {write("free"), write("held")});
  const auto refused = next.ask({write("free")}, {.will_wait = true});
  ASSERT_TRUE(is_kept(refused)) << test::describe(refused);
  const std::shared_ptr<WaitTicket> second = std::get<Busy>(*refused).ticket;
  quitter.backend().end_wait(*first, soon());
  const TimePoint until = BootClock::now() + 20s;
  EXPECT_TRUE(next.backend().await_change(*second, until, {}));
  EXPECT_LT(BootClock::now(), until) << "it was not woken";
  EXPECT_TRUE(next.take({write("free")}, {.will_wait = true, .ticket = second}).stamp);
}

// A waiter that was called shows that it lives, and its names stay its own.
TEST_F(LineTest, WhoAnswersACallKeepsItsNames) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  Client other = client("other");
  bound(0, {&holder, &waiter, &other});
  holder.take({write("held")});
  const Wanted both{write("free"), write("held")};
  std::shared_ptr<WaitTicket> ticket = wait_for(waiter, both);
  std::atomic<int> calls = 0;
  std::jthread waiting([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      static_cast<void>(
          waiter.backend().await_change(*ticket, BootClock::now() + long_time, stop).ok());
      if (stop.stop_requested()) break;
      ++calls;
      ticket = wait_for(waiter, both, ticket);
    }
  });
  // Not longer than any stall of a busy machine may last, but many calls.
  const TimePoint until = BootClock::now() + 4 * prod_after;
  int refused = 0;
  int granted = 0;
  while (BootClock::now() < until) {
    const auto outcome = other.ask({write("free")});
    if (is_kept(outcome)) ++refused;
    // A stall of the machine, and the waiter was passed over.
    const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant != nullptr) other.release(grant->stamp);
    granted += grant != nullptr ? 1 : 0;
    test::linger(10ms);
  }
  waiting.request_stop();
  waiting.join();
  EXPECT_GT(calls, 0) << "nothing was tested";
  EXPECT_GT(refused, 10 * granted);
  waiter.backend().end_wait(*ticket, soon());
  EXPECT_TRUE(other.try_take({write("free")}));
}

// A waiter that moves to the queue of another name of its set keeps its place in the lines.
TEST_F(LineTest, APlaceStaysThroughAllQueues) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  bound(2, {&holder, &waiter});
  const Wanted both{write("a"), write("b")};
  Stamp a = holder.take({write("a")}).stamp;
  Stamp b = holder.take({write("b")}).stamp;
  std::shared_ptr<WaitTicket> ticket = wait_for(waiter, both);
  EXPECT_TRUE(holder.release(a));
  ticket = wait_for(waiter, both, ticket);
  a = holder.take({write("a")}).stamp;
  EXPECT_EQ(overtaken(), 1);
  EXPECT_TRUE(holder.release(b));
  ticket = wait_for(waiter, both, ticket);
  b = holder.take({write("b")}).stamp;
  EXPECT_EQ(overtaken(), 2);
  EXPECT_TRUE(holder.release(a));
  EXPECT_TRUE(is_kept(holder.ask({write("a")})));
  EXPECT_TRUE(holder.release(b));
  EXPECT_TRUE(waiter.take(both, {.will_wait = true, .ticket = ticket}).stamp);
  EXPECT_EQ(overtaken(), -1) << "the grant takes it out of the line";
}

// A name's node tells of a line only as long as there is one.
TEST_F(LineTest, WithoutWaitersNobodyReadsTheLine) {
  Client holder = client("holder");
  Client waiter = client("waiter");
  const std::string name = root() + "/names/a";
  Stamp stamp = holder.take({write("a")}).stamp;
  EXPECT_EQ(raw().get(name).value().data, "");
  std::shared_ptr<WaitTicket> ticket = wait_for(waiter, {write("a")});
  EXPECT_NE(raw().get(name).value().data, "");
  EXPECT_TRUE(holder.release(stamp));
  stamp = waiter.take({write("a")}, {.will_wait = true, .ticket = ticket}).stamp;
  EXPECT_TRUE(waiter.release(stamp));
  // The next one finds that nobody is there any more.
  EXPECT_TRUE(holder.release(holder.take({write("a")}).stamp));
  EXPECT_EQ(raw().get(name).value().data, "");
}

// Whoever comes leaves a name alone that tells of a line already: the grant to the one in front
// must not fail each time that somebody comes.
TEST_F(LineTest, WhoComesDoesNotDisturbTheOneInFront) {
  Client holder = client("holder");
  Client first = client("first");
  Client late = client("late");
  const std::string name = root() + "/names/a";
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::shared_ptr<WaitTicket> ticket = wait_for(first, {write("a")});
  const std::int32_t before = raw().get(name).value().version;
  const std::shared_ptr<WaitTicket> other = wait_for(late, {write("a")});
  EXPECT_EQ(raw().get(name).value().version, before);
  EXPECT_TRUE(holder.release(stamp));
  EXPECT_EQ(first.take({write("a")}, {.will_wait = true, .ticket = ticket}).collisions, 0U);
}

// A client found a name marked and nobody in line, and is about to take the mark away. If somebody
// came meanwhile, that must fail: others would no longer look who is in line.
TEST_F(LineTest, AMarkStaysIfSomebodyCame) {
  test::TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client holder = client("holder");
  Client waiter = client("waiter");
  bound(0, {&holder, &slow, &waiter});
  holder.take({write("held")});
  EXPECT_TRUE(slow.release(slow.take({write("to get the sessions ready")}).stamp));
  bool conclusive = false;
  for (int i = 0; i < 40 && !conclusive && !HasFailure(); ++i) {
    const std::string a = "a" + std::to_string(i);
    const Wanted both{write(a), write("held")};
    waiter.backend().end_wait(*wait_for(waiter, both), soon());  // leaves the mark
    ASSERT_NE(raw().get(root() + "/names/" + a).value().data, "");
    // It asks for the name, for the line, and then for the lock.
    proxy.far(100ms);
    std::optional<Result<AcquireOutcome>> later;
    std::thread asking([&] { later = slow.ask({write(a)}); });
    test::linger(std::chrono::milliseconds(210 + 10 * (i % 8)));
    const std::shared_ptr<WaitTicket> ticket = wait_for(waiter, both);
    asking.join();
    proxy.far(0ms);
    ASSERT_TRUE(*later);
    const Grant* const grant = std::get_if<Grant>(&**later);
    const Busy* const busy = std::get_if<Busy>(&**later);
    EXPECT_NE(raw().get(root() + "/names/" + a).value().data, "")
        << "somebody is in line, and the name does not tell";
    conclusive = busy != nullptr && busy->collisions > 0 && is_kept(*later);
    if (grant != nullptr) slow.release(grant->stamp);
    waiter.backend().end_wait(*ticket, soon());
  }
  EXPECT_TRUE(conclusive) << "nothing was tested";
}

// The mark went while a waiter was on its way into the line. It looks once it is there.
TEST_F(LineTest, AMarkThatWentComesBack) {
  test::TcpProxy proxy(server().port());
  Client slow(open_backend(url_through(proxy.port()), soon()).value(), "slow");
  Client holder = client("holder");
  Client other = client("other");
  bound(0, {&holder, &slow, &other});
  holder.take({write("held")});
  const Wanted both{write("a"), write("held")};
  const std::string name = root() + "/names/a";
  slow.backend().end_wait(*wait_for(slow, both), soon());  // its sessions are there, and a mark
  for (int i = 0; i < 16 && !HasFailure(); ++i) {
    slow.backend().end_wait(*wait_for(slow, both), soon());
    ASSERT_NE(raw().get(name).value().data, "");
    proxy.far(100ms);
    std::shared_ptr<WaitTicket> ticket;
    std::thread coming([&] { ticket = wait_for(slow, both); });
    // It has read the names and asks who holds the one; or it is on its way into the line.
    test::linger(std::chrono::milliseconds(60 + 20 * i));
    const auto taken = other.ask({write("a")});
    coming.join();
    proxy.far(0ms);
    EXPECT_NE(raw().get(name).value().data, "") << "in round " << i;
    const Grant* const grant = taken ? std::get_if<Grant>(&*taken) : nullptr;
    if (grant != nullptr) other.release(grant->stamp);
    slow.backend().end_wait(*ticket, soon());
  }
}

// SEM 13: of many who wait, only the first few are asked whether the name is kept for them.
TEST_F(LineTest, ACrowdIsNotAskedWhileTheFirstKeepsTheName) {
  constexpr std::size_t crowd = 40;
  Client holder = client("holder");
  Client waiter = client("waiter");
  Client other = client("other");
  bound(0, {&holder, &waiter, &other});
  EXPECT_TRUE(other.release(other.take({write("to get the sessions ready")}).stamp));
  holder.take({write("held")});
  std::vector<std::shared_ptr<WaitTicket>> tickets;
  for (std::size_t i = 0; i < crowd; ++i) {
    tickets.push_back(wait_for(waiter, {write("free"), write("held")}));
  }
  const std::map<std::string, std::size_t> before = received();
  ASSERT_TRUE(is_kept(other.ask({write("free")})));
  for (const auto& [connection, count] : received()) {
    const auto then = before.find(connection);
    if (then == before.end()) continue;
    EXPECT_LT(count - then->second, crowd);
  }
  for (const auto& ticket : tickets) waiter.backend().end_wait(*ticket, soon());
}

}  // namespace
}  // namespace lockset::zookeeper_tests
