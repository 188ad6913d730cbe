// SEM 13, P7: a release wakes one or two of many waiters for a name, however many there are.
#include <malloc.h>

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "tests/zookeeper/fixture.h"
#include "tests/zookeeper/four_letters.h"

namespace lockset::zookeeper_tests {
namespace {

constexpr std::size_t crowd = 200;
constexpr std::size_t clients = 10;
constexpr std::size_t releases = 20;
// In the queue and in the line, how often it was overtaken, and its call.
constexpr std::size_t nodes_of_a_waiter = 4;

// The watches that the server has fired since its start: each wakes the client that set it.
std::int64_t watches_fired() {
  std::int64_t sum = 0;
  for (const std::string what : {"changed", "created", "deleted", "children"}) {
    sum += test::monitored(server().port(), "zk_sum_node_" + what + "_watch_count");
  }
  return sum;
}

// The bytes that this process has in use.
std::size_t in_use() { return ::mallinfo2().uordblks; }

class Crowd : public ZookeeperTest {
 protected:
  // What a waiter does, without the core's polls: only the store wakes it.
  void wait_in_line(Client& mine, std::stop_token stop) {
    std::shared_ptr<WaitTicket> ticket = mine.meet_busy({write("hot")}, {.will_wait = true}).ticket;
    ++queued_;
    while (true) {
      EXPECT_TRUE(mine.backend().await_change(*ticket, BootClock::now() + 1h, stop));
      if (stop.stop_requested()) return;
      ++woken_;
      const auto outcome = mine.ask({write("hot")}, {.will_wait = true, .ticket = ticket});
      if (const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
        const std::lock_guard lock(mutex_);
        granted_.push_back(grant->stamp);
        changed_.notify_all();
        return;
      }
      ASSERT_TRUE(outcome) << outcome.error().message;
      ticket = std::get<Busy>(*outcome).ticket;
    }
  }
  // The stamp of the next waiter that is granted.
  Stamp next_grant(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, long_time, [&] { return granted_.size() > count; })) return {};
    return granted_[count];
  }

  std::atomic<std::size_t> queued_ = 0;
  std::atomic<std::size_t> woken_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Stamp> granted_;
};

TEST_F(Crowd, AReleaseWakesOneOrTwo) {
  Client holder = client("holder");
  Stamp stamp = holder.take({write("hot")}, {.lease = 5min}).stamp;
  std::vector<std::shared_ptr<Backend>> backends;
  for (std::size_t i = 0; i < clients; ++i) backends.push_back(open());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < crowd; ++i) {
    threads.emplace_back([&, i](const std::stop_token& stop) {
      Client mine(backends[i % clients], "waiter");
      EXPECT_NO_THROW(wait_in_line(mine, stop));
    });
  }
  ASSERT_TRUE(eventually([&] { return queued_ == crowd; }, long_time));
  ASSERT_EQ(view().traces().size(), 2 + nodes_of_a_waiter * crowd);
  EXPECT_EQ(woken_, 0U) << "for no reason";

  const std::int64_t fired_before = watches_fired();
  Client owner(backends.front(), "waiter");
  for (std::size_t i = 0; i < releases; ++i) {
    EXPECT_TRUE(i == 0 ? holder.release(stamp) : owner.release(stamp));
    const Stamp next = next_grant(i);
    ASSERT_GT(next, stamp) << "nobody was woken by release " << i;
    stamp = next;
    EXPECT_LE(woken_, 2 * (i + 1)) << "after release " << i;
  }
  const std::int64_t fired = watches_fired() - fired_before;
  RecordProperty("woken", static_cast<int>(woken_));
  RecordProperty("watches_fired", static_cast<int>(fired));
  EXPECT_LE(woken_, 2 * releases);
  // Fired because the name is free, because it is taken, and because a place in the queue is gone:
  // for the woken waiter and for the next in line, not for the crowd.
  EXPECT_GE(fired, static_cast<std::int64_t>(releases));
  EXPECT_LE(fired, static_cast<std::int64_t>(6 * releases));
}

// Waiters that give up on a name that stays taken leave nothing in the client.
TEST_F(Crowd, WhoGivesUpLeavesNothing) {
  Client holder = client("holder");
  holder.take({write("held")}, {.lease = 5min});  // outlasts what follows on a slow machine
  Client mine = client();
  const auto give_up = [&] {
    const Busy busy = mine.meet_busy({write("held")}, {.will_wait = true});
    mine.backend().end_wait(*busy.ticket, soon());
  };
  for (int i = 0; i < 50; ++i) give_up();
  const std::size_t before = in_use();
  for (int i = 0; i < 1000; ++i) give_up();
  EXPECT_LT(in_use(), before + 100'000);
  EXPECT_EQ(mine.inspect().waiters.size(), 0U);
}

// They share a watch; a waiter that gives up takes it from nobody.
TEST_F(Crowd, WhoStaysIsWokenAllTheSame) {
  Client holder = client("holder");
  const Stamp stamp = holder.take({write("held")}).stamp;
  Client mine = client();
  const Busy first = mine.meet_busy({write("held")}, {.will_wait = true});
  const Busy second = mine.meet_busy({write("held")}, {.will_wait = true});
  for (int i = 0; i < 20; ++i) {
    const Busy third = mine.meet_busy({write("held")}, {.will_wait = true});
    mine.backend().end_wait(*third.ticket, soon());
  }
  mine.backend().end_wait(*first.ticket, soon());
  EXPECT_TRUE(holder.release(stamp));
  EXPECT_TRUE(mine.backend().await_change(*second.ticket, BootClock::now() + long_time, {}));
  EXPECT_TRUE(mine.try_take({write("held")}, {.will_wait = true, .ticket = second.ticket}));
}

}  // namespace
}  // namespace lockset::zookeeper_tests
