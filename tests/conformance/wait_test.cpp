// SEM 13: waiting, at the level of the backend: tickets, wake-ups, hints.
#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

// Much longer than any wake-up takes, so that a wake-up and the deadline can't be confused.
constexpr Duration far = 30s;
constexpr Duration early = 15s;

class Waiting : public Conformance {
 protected:
  // A busy answer with a ticket; throws without one.
  static std::shared_ptr<WaitTicket> queue_up(Client& c, const Wanted& wanted) {
    const Busy busy = c.meet_busy(wanted, {.will_wait = true});
    if (!busy.ticket) throw std::runtime_error("busy, but no ticket to wait with");
    return busy.ticket;
  }
};

// Contract: a ticket only for requests that want to wait
TEST_P(Waiting, ATicketIsForThoseWhoWait) {
  Client c = client();
  c.take({write("a")});
  EXPECT_EQ(c.meet_busy({write("a")}).ticket, nullptr);
  EXPECT_NE(c.meet_busy({write("a")}, {.will_wait = true}).ticket, nullptr);
}

// SEM 13: "The store wakes waiters where it can"
TEST_P(Waiting, AReleaseWakesAWaiter) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")});
  std::atomic<bool> waits = false;
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return waits.load(); })) ADD_FAILURE() << "nobody waits";
      EXPECT_TRUE(holder.release(grant.stamp));
      return;
    }
    Client waiter(open(), "waiter");
    const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
    waits = true;
    const TimePoint began = BootClock::now();
    EXPECT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
    EXPECT_LT(BootClock::now() - began, early) << "not woken, but run into its deadline";
    EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = ticket}).stamp);
  });
}

// Contract: no release after the busy answer can be missed: the release comes between the answer
// and the wait
TEST_P(Waiting, AReleaseBeforeTheWaitIsNotMissed) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  for (int round = 0; round < 20; ++round) {
    const Grant grant = holder.take({write("a")});
    const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
    ASSERT_TRUE(holder.release(grant.stamp));
    const TimePoint began = BootClock::now();
    ASSERT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
    ASSERT_LT(BootClock::now() - began, early) << "round " << round;
    const Grant got = waiter.take({write("a")}, {.will_wait = true, .ticket = ticket});
    ASSERT_TRUE(waiter.release(got.stamp));
  }
}

// SEM 13: by any item of the set
TEST_P(Waiting, AWaiterForASetIsWokenByTheItemInItsWay) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  for (const char* name : {"a", "b", "c"}) {
    SCOPED_TRACE(name);
    const Grant grant = holder.take({write(name)});
    const std::shared_ptr<WaitTicket> ticket =
        queue_up(waiter, {write("a"), read("b"), write("c")});
    ASSERT_TRUE(holder.release(grant.stamp));
    const TimePoint began = BootClock::now();
    ASSERT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
    EXPECT_LT(BootClock::now() - began, early);
    waiter.backend().end_wait(*ticket, soon());
  }
}

// SEM 13, 17: a break wakes, too
TEST_P(Waiting, ABreakWakesAWaiter) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  const Grant grant = holder.take({write("a")});
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  ASSERT_TRUE(waiter.break_hold(grant.stamp));
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
  EXPECT_LT(BootClock::now() - began, early);
  waiter.backend().end_wait(*ticket, soon());
}

// SEM 6, 13: so do raised permits
TEST_P(Waiting, RaisedPermitsWakeAWaiter) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  holder.take({write("a")});
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  holder.set_permits("a", Mode::write, 2);
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
  EXPECT_LT(BootClock::now() - began, early);
  EXPECT_TRUE(waiter.take({write("a")}, {.will_wait = true, .ticket = ticket}).stamp);
}

// SEM 12, 13: and so does a reclaim
TEST_P(Waiting, AReclaimWakesAWaiter) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client dead = client("app");
  dead.take({write("a")});
  const std::int64_t epoch = dead.take({write("@app:app")}).stamp.value;
  Client waiter(open(), "waiter");
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  ASSERT_TRUE(backend()->reclaim("app", epoch, soon()));
  const TimePoint began = BootClock::now();
  EXPECT_TRUE(waiter.backend().await_change(*ticket, began + far, {}));
  EXPECT_LT(BootClock::now() - began, early);
  waiter.backend().end_wait(*ticket, soon());
}

// Contract: it returns at `until`. It may return earlier, but not later.
TEST_P(Waiting, EndsAtItsDeadline) {
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  holder.take({write("a")});
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  const Stopwatch watch;
  (void)waiter.backend().await_change(*ticket, watch.began() + 100ms, {});
  EXPECT_LT(watch.elapsed(), 3s);
  // A deadline in the past has come already.
  (void)waiter.backend().await_change(*ticket, watch.began(), {});
  EXPECT_LT(watch.elapsed(), 3s);
  waiter.backend().end_wait(*ticket, soon());
}

// SEM 13: a store that pushes does not spin: undisturbed, it sleeps until its deadline
TEST_P(Waiting, DoesNotSpinWhileNothingChanges) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  holder.take({write("a")});
  std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  const TimePoint until = BootClock::now() + 300ms;
  int returns = 0;
  while (BootClock::now() < until) {
    (void)waiter.backend().await_change(*ticket, until, {});
    ++returns;
    ticket = waiter.meet_busy({write("a")}, {.will_wait = true, .ticket = ticket}).ticket;
  }
  EXPECT_LE(returns, 30);
  waiter.backend().end_wait(*ticket, soon());
}

// SEM 13: cancellation
TEST_P(Waiting, EndsWhenItIsStopped) {
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  holder.take({write("a")});
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
  std::stop_source stop;
  std::atomic<bool> waits = false;
  const TimePoint began = BootClock::now();
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return waits.load(); })) ADD_FAILURE() << "nobody waits";
      stop.request_stop();
      return;
    }
    waits = true;
    (void)waiter.backend().await_change(*ticket, began + far, stop.get_token());
    EXPECT_LT(BootClock::now() - began, early);
  });
  // Stopped before it began.
  const TimePoint again = BootClock::now();
  (void)waiter.backend().await_change(*ticket, again + far, stop.get_token());
  EXPECT_LT(BootClock::now() - again, early);
  waiter.backend().end_wait(*ticket, soon());
}

// SEM 13: a waiter that gave up blocks nobody, and may ask again
TEST_P(Waiting, WhoGaveUpIsInNobodysWay) {
  Client holder = client("holder");
  Client quitter(open(), "quitter");
  Client waiter(open(), "waiter");
  const Grant grant = holder.take({write("a")});
  const std::shared_ptr<WaitTicket> first = queue_up(quitter, {write("a")});
  const std::shared_ptr<WaitTicket> second = queue_up(waiter, {write("a")});
  quitter.backend().end_wait(*first, soon());
  ASSERT_TRUE(holder.release(grant.stamp));
  const TimePoint began = BootClock::now();
  (void)waiter.backend().await_change(*second, began + (traits().push_wakeup ? far : 100ms), {});
  EXPECT_LT(BootClock::now() - began, early);
  const Grant got = waiter.take({write("a")}, {.will_wait = true, .ticket = second});
  ASSERT_TRUE(waiter.release(got.stamp));
  EXPECT_TRUE(quitter.take({write("a")}).stamp);
}

// SEM 13: a ticket dropped without end_wait (its client died) blocks nobody
TEST_P(Waiting, ADroppedTicketStopsNobody) {
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")});
  {
    Client dead(open(), "dead");
    queue_up(dead, {write("a")});
  }
  Client waiter(open(), "waiter");
  queue_up(waiter, {write("a")});
  ASSERT_TRUE(holder.release(grant.stamp));
  std::optional<Grant> got;
  EXPECT_TRUE(eventually([&] { return (got = waiter.try_take({write("a")})).has_value(); }));
}

// SEM 13: a waiter holds no part of its set
TEST_P(Waiting, HoldsNothingWhileItWaits) {
  Client holder = client("holder");
  Client waiter(open(), "waiter");
  holder.take({write("b")});
  const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a"), write("b"), write("c")});
  EXPECT_EQ(space().look().size(), 1U);
  Client third(open(), "third");
  EXPECT_TRUE(third.take({write("a")}).stamp) << "newcomers may overtake";
  EXPECT_TRUE(third.take({write("c")}).stamp);
  waiter.backend().end_wait(*ticket, soon());
}

// SEM 13: "A waiter that was woken and not admitted wakes the next". The first in the queue waits
// for more than what becomes free; the second must still make progress.
TEST_P(Waiting, AWaiterThatIsNotAdmittedDoesNotKeepTheWakeUp) {
  if (skip_unless(traits().push_wakeup, "push wake-ups")) return;
  Client holder = client("holder");
  const Grant a = holder.take({write("a")});
  holder.take({write("b")});
  std::atomic<int> waiting = 0;
  std::atomic<bool> done = false;
  run_threads(3, [&](std::size_t i) {
    if (i == 2) {
      if (!eventually([&] { return waiting == 2; })) ADD_FAILURE() << "nobody waits";
      EXPECT_TRUE(holder.release(a.stamp));
      return;
    }
    Client waiter(open(), "waiter" + std::to_string(i));
    const Wanted wanted = i == 0 ? Wanted{write("a"), write("b")} : Wanted{write("a")};
    if (i == 1 && !eventually([&] { return waiting == 1; })) ADD_FAILURE() << "the first is late";
    std::shared_ptr<WaitTicket> ticket = queue_up(waiter, wanted);
    ++waiting;
    const TimePoint began = BootClock::now();
    if (i == 0) {
      // As the core does: when woken, try, and wait again, until the other waiter is done.
      while (!done && BootClock::now() < began + far) {
        (void)waiter.backend().await_change(*ticket,
                                            std::min(BootClock::now() + 200ms, began + far), {});
        ticket = waiter.meet_busy(wanted, {.will_wait = true, .ticket = ticket}).ticket;
      }
      waiter.backend().end_wait(*ticket, soon());
      return;
    }
    (void)waiter.backend().await_change(*ticket, began + far, {});
    EXPECT_LT(BootClock::now() - began, early) << "the wake-up got stuck with the first waiter";
    EXPECT_TRUE(waiter.take(wanted, {.will_wait = true, .ticket = ticket}).stamp);
    done = true;
  });
}

// SEM 13 and P7: one release wakes a bounded number out of many waiters
TEST_P(Waiting, OneReleaseWakesFewOfMany) {
  if (skip_unless(traits().queued_wakeup, "queued wake-ups")) return;
  constexpr std::size_t waiters = 50;
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")});
  std::atomic<std::size_t> waiting = 0;
  std::atomic<std::size_t> woken = 0;
  std::atomic<bool> over = false;
  std::stop_source stop;
  const std::shared_ptr<Backend> shared = open();
  run_threads(waiters + 1, [&](std::size_t i) {
    if (i == waiters) {
      if (!eventually([&] { return waiting == waiters; })) ADD_FAILURE() << "not all wait";
      // Wake-ups without a reason before the release do not count.
      const std::size_t before = woken;
      EXPECT_TRUE(holder.release(grant.stamp));
      if (!eventually([&] { return woken > before; })) ADD_FAILURE() << "nobody was woken";
      // Watched for a while: a herd, if there is one, comes at once.
      const TimePoint until = BootClock::now() + 300ms;
      eventually([&] { return BootClock::now() >= until; });
      EXPECT_LE(woken - before, 4U) << "of " << waiters;
      over = true;
      stop.request_stop();
      return;
    }
    Client waiter(shared, "waiter" + std::to_string(i));
    const std::shared_ptr<WaitTicket> ticket = queue_up(waiter, {write("a")});
    ++waiting;
    (void)shared->await_change(*ticket, BootClock::now() + 2 * patience, stop.get_token());
    if (!over) {
      ++woken;
      // As the core does: the first of them holds it now, and nobody else should be woken.
      (void)waiter.ask({write("a")}, {.will_wait = true, .ticket = ticket});
      eventually([&] { return over.load(); });
    }
    shared->end_wait(*ticket, soon());
  });
}

// SEM 17: each waiter with its names
TEST_P(Waiting, InspectionListsWaiters) {
  if (skip_unless(traits().lists_waiters, "a list of waiters")) return;
  Client holder = client("holder");
  const Grant grant = holder.take({write("a")});
  Client one(open(), "one");
  Client two(open(), "two");
  const std::shared_ptr<WaitTicket> first = queue_up(one, {write("a"), read("b")});
  const std::shared_ptr<WaitTicket> second = queue_up(two, {write("a")});
  const std::vector<WaiterInfo> waiters = holder.inspect().waiters;
  ASSERT_EQ(waiters.size(), 2U);
  EXPECT_EQ(waiters[0].owner.app, "one") << "longest wait first";
  EXPECT_EQ(waiters[0].items, (Wanted{write("a"), read("b")}));
  EXPECT_EQ(waiters[1].owner.app, "two");
  EXPECT_EQ(holder.inspect({InspectQuery::Match::name, "b"}).waiters.size(), 1U);
  one.backend().end_wait(*first, soon());
  EXPECT_EQ(holder.inspect().waiters.size(), 1U);
  ASSERT_TRUE(holder.release(grant.stamp));
  const Grant got = two.take({write("a")}, {.will_wait = true, .ticket = second});
  EXPECT_TRUE(got.stamp);
  EXPECT_TRUE(holder.inspect().waiters.empty()) << "who is granted waits no longer";
}

LOCKSET_CONFORMANCE_SUITE(Waiting);

}  // namespace
}  // namespace lockset::conformance
