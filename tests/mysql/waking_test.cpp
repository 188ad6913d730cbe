// SEM 13: one poller per client asks for all of its waiters, and wakes few at a time.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "tests/mysql/fixture.h"
#include "tests/support/without_threads.h"

namespace lockset::mysql_tests {
namespace {

class Waking : public MysqlTest {};

constexpr std::size_t crowd = 200;

TEST_P(Waking, ACrowdCostsNoMoreQueriesThanOneWaiter) {
  Client holder = client();
  Client waiter = client("waiter");
  const Stamp stamp = holder.take({write("a")}).stamp;
  const auto questions_of = [&](std::size_t count) {
    std::vector<std::shared_ptr<WaitTicket>> tickets;
    for (std::size_t i = 0; i < count; ++i) {
      tickets.push_back(waiter.meet_busy({write("a")}, {.will_wait = true}).ticket);
    }
    std::atomic<std::size_t> woken = 0;
    std::vector<std::jthread> threads;
    const TimePoint until = BootClock::now() + 1500ms;
    const std::int64_t before = status("Questions");
    for (const auto& ticket : tickets) {
      threads.emplace_back([&, ticket] {
        EXPECT_TRUE(waiter.backend().await_change(*ticket, until, {}));
        if (BootClock::now() < until - 20ms) ++woken;
      });
    }
    threads.clear();
    const std::int64_t asked = status("Questions") - before;
    EXPECT_EQ(woken, 0U) << "of " << count << ", for no reason";
    for (const auto& ticket : tickets) waiter.backend().end_wait(*ticket, soon());
    return asked;
  };
  const std::int64_t one = questions_of(1);
  const std::int64_t many = questions_of(crowd);
  RecordProperty("questions_of_one", static_cast<int>(one));
  RecordProperty("questions_of_crowd", static_cast<int>(many));
  // Each may ask at most every 5 ms, and its procedure counts as a statement or two more.
  EXPECT_LT(one, 700);
  EXPECT_LT(many, 700);
  EXPECT_TRUE(holder.release(stamp));
}

class Looks final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::busy) ++busy;
  }
  std::atomic<int> busy = 0;
};

// A herd would look half as many times per grant as there are waiters, mostly in vain.
TEST_P(Waking, AReleaseWakesAFewOfACrowd) {
  constexpr int waiters = 60;
  const auto looks = std::make_shared<Looks>();
  Options options;
  options.app = "waiters";
  options.observer = looks;
  Locks locks = lockset::open(open_backend(url(), soon()).value(), options).value();
  Client holder = client();
  const Stamp stamp = holder.take({write("a")}).stamp;
  std::atomic<int> inside = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 50s});
      EXPECT_TRUE(hold) << hold.error().message;
      EXPECT_EQ(++inside, 1);
      --inside;
    });
  }
  EXPECT_TRUE(eventually([&] { return looks->busy >= waiters; }));
  const int before = looks->busy;
  EXPECT_TRUE(holder.release(stamp));
  threads.clear();
  const int in_vain = looks->busy - before;
  RecordProperty("looks_in_vain", in_vain);
  EXPECT_LT(in_vain, waiters * waiters / 6);
}

// Errors are values, including this one.
TEST_P(Waking, NoThreadIsToBeHad) {
  EXPECT_TRUE(test::succeeds_without_threads([&](const auto& limit) {
    Client mine = client();
    Locks locks = lockset::open(url()).value();
    const Stamp stamp = mine.take({write("a")}).stamp;
    limit();
    // A waiter asks again without being woken.
    const Busy busy = mine.meet_busy({write("a")}, {.will_wait = true});
    const auto tried = locks.try_acquire({write("b")});
    return !busy.ticket && mine.release(stamp) && !tried.ok() &&
           tried.error().code == Errc::unavailable;
  }));
}

LOCKSET_MYSQL_SERVERS(Waking);

}  // namespace
}  // namespace lockset::mysql_tests
