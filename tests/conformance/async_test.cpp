// SEM 13: acquires that wait without a thread (ADR 0070), over each backend.
#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Async : public Conformance {
 protected:
  static std::future<Result<Hold>> start(Locks& locks, const std::string& name,
                                         const AcquireOptions& options = {}) {
    const auto promise = std::make_shared<std::promise<Result<Hold>>>();
    locks.start_acquire({write(name)}, options,
                        [promise](Result<Hold> hold) { promise->set_value(std::move(hold)); });
    return promise->get_future();
  }
  static bool is_ready(std::future<Result<Hold>>& future) {
    return future.wait_for(patience) == std::future_status::ready;
  }
};

// Contract: has_changed tells of a release after the busy answer
TEST_P(Async, AReleaseIsNoticedWithoutWaiting) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  for (int round = 0; round < 5; ++round) {
    const Grant grant = holder.take({write("a")});
    const Busy busy = waiter.meet_busy({write("a")}, {.will_wait = true});
    if (!busy.ticket) throw std::runtime_error("busy, but no ticket to wait with");
    const TimePoint since = BootClock::now();
    ASSERT_TRUE(holder.release(grant.stamp));
    ASSERT_TRUE(eventually([&] { return waiter.backend().has_changed(*busy.ticket, since); }))
        << "round " << round;
    ASSERT_TRUE(waiter.backend().await_change(*busy.ticket, BootClock::now() + 30s, {}));
    const Grant got = waiter.take({write("a")}, {.will_wait = true, .ticket = busy.ticket});
    ASSERT_TRUE(waiter.release(got.stamp));
  }
}

// SEM 4, 13
TEST_P(Async, WaitersAreServedOneByOne) {
  constexpr int many = 12;
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  Hold first = other.acquire({write("a")}).value();
  std::vector<std::future<Result<Hold>>> waiting;
  for (int i = 0; i < many; ++i) waiting.push_back(start(mine, "a"));
  EXPECT_TRUE(first.release());
  // One after the other is granted, and is released here: whichever it is.
  std::vector<bool> served(many);
  for (int turn = 0; turn < many; ++turn) {
    std::size_t who = many;
    ASSERT_TRUE(eventually([&] {
      for (std::size_t i = 0; i < many && who == many; ++i) {
        if (!served[i] && waiting[i].wait_for(0s) == std::future_status::ready) who = i;
      }
      return who != many;
    })) << "turn "
        << turn;
    served[who] = true;
    Result<Hold> hold = waiting[who].get();
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->valid());
    EXPECT_EQ(space().look().size(), 1U);
    const auto released = std::make_shared<std::promise<Status>>();
    std::move(*hold).start_release(
        [released](Status status) { released->set_value(std::move(status)); });
    const Status status = released->get_future().get();
    EXPECT_TRUE(status) << status.error().message;
  }
  EXPECT_TRUE(space().look().empty());
}

// SEM 14: cancelling races with the grant: nothing is held that nobody knows of
TEST_P(Async, ACancelledAcquireLeavesNothing) {
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  for (int round = 0; round < rounds(20, 5); ++round) {
    Hold first = other.acquire({write("a")}).value();
    std::stop_source stop;
    std::future<Result<Hold>> waiting = start(mine, "a", {.stop = stop.get_token()});
    run_threads(2, [&](std::size_t i) {
      if (i == 0) {
        stop.request_stop();
      } else {
        EXPECT_TRUE(first.release());
      }
    });
    ASSERT_TRUE(is_ready(waiting)) << "round " << round;
    {
      const Result<Hold> hold = waiting.get();
      EXPECT_TRUE(hold || hold.error().code == Errc::cancelled);
    }
    ASSERT_TRUE(eventually([&] { return space().look().empty(); })) << "round " << round;
    EXPECT_TRUE(other.try_acquire({write("a")}).value()) << "the next one is free to come";
  }
}

// SEM 14
TEST_P(Async, ADeadlineEndsTheWait) {
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  const Hold first = other.acquire({write("a")}).value();
  const TimePoint began = BootClock::now();
  std::future<Result<Hold>> waiting = start(mine, "a", {.wait = 200ms});
  ASSERT_TRUE(is_ready(waiting));
  EXPECT_EQ(code_of(waiting.get()), Errc::timeout);
  EXPECT_GE(BootClock::now() - began, 200ms);
}

TEST_P(Async, ClosingEndsAllWaits) {
  Locks other = locks({.app = "other"});
  Hold first = other.acquire({write("a")}).value();
  std::vector<std::future<Result<Hold>>> waiting;
  {
    Locks mine = locks({.app = "mine"});
    for (int i = 0; i < 8; ++i) waiting.push_back(start(mine, "a"));
  }
  for (auto& one : waiting) {
    ASSERT_EQ(one.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(code_of(one.get()), Errc::cancelled);
  }
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(first.release());
  EXPECT_TRUE(eventually([&] { return other.try_acquire({write("a")}).value().has_value(); }));
}

LOCKSET_CONFORMANCE_SUITE(Async);

}  // namespace
}  // namespace lockset::conformance
