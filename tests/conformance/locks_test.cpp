// The public interface over each backend: grants, waiting, releases, applications.
#include <atomic>
#include <thread>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/suite.h"
#include "tests/support/event_counts.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

class LocksTest : public Conformance {};

// SEM 5, 8
TEST_P(LocksTest, AcquireGivesAHold) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("b"), read("a")}).value();
  EXPECT_TRUE(hold.stamp());
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(Wanted(hold.items().begin(), hold.items().end()), (Wanted{read("a"), write("b")}));
  EXPECT_EQ(hold.lost_reason(), LostReason::not_lost);
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(space().look().at(0).items, (Wanted{read("a"), write("b")}));
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(space().look().empty());
}

// SEM 14: contention is not an error
TEST_P(LocksTest, ContentionIsAnEmptyOptional) {
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  Hold hold = mine.acquire({write("a")}).value();
  const Result<std::optional<Hold>> attempt = other.try_acquire({write("a")});
  ASSERT_TRUE(attempt);
  EXPECT_FALSE(*attempt);
}

// SEM 15: not re-entrant
TEST_P(LocksTest, TheOwnerIsTheHoldNotTheThread) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_FALSE(mine.try_acquire({write("a")}).value());
}

// SEM 9
TEST_P(LocksTest, TheSecondReleaseIsNotHeld) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_TRUE(hold.release());
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(code_of(hold.release()), Errc::not_held);
  EXPECT_FALSE(hold.lost().stop_requested()) << "a release is no loss";
  EXPECT_EQ(hold.lost_reason(), LostReason::not_lost);
}

TEST_P(LocksTest, TheDestructorReleases) {
  Locks mine = locks();
  {
    const Hold hold = mine.acquire({write("a"), write("b")}).value();
    EXPECT_EQ(space().look().size(), 1U);
  }
  EXPECT_TRUE(space().look().empty());
}

TEST_P(LocksTest, MovingKeepsTheHold) {
  Locks mine = locks();
  Hold first = mine.acquire({write("a")}).value();
  const Stamp stamp = first.stamp();
  Hold second = std::move(first);
  EXPECT_EQ(second.stamp(), stamp);
  EXPECT_TRUE(second.valid());
  second = mine.acquire({write("b")}).value();
  ASSERT_EQ(space().look().size(), 1U) << "the overwritten hold is released";
  EXPECT_EQ(space().look()[0].items, Wanted{write("b")});
  const Hold none;
  EXPECT_FALSE(none.stamp());
  EXPECT_FALSE(none.valid());
}

// "The Locks that granted the hold may be destroyed first; that releases it."
TEST_P(LocksTest, TheManagerMayBeDestroyedFirst) {
  Hold hold;
  {
    Locks mine = locks();
    hold = mine.acquire({write("a")}).value();
    ASSERT_TRUE(hold.valid());
  }
  EXPECT_TRUE(space().look().empty());
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(code_of(hold.release()), Errc::not_held);
  EXPECT_EQ(code_of(hold.renew()), Errc::not_held);
}

TEST_P(LocksTest, AMovedManagerKeepsItsHolds) {
  Locks first = locks();
  Hold hold = first.acquire({write("a")}).value();
  Locks second = std::move(first);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(second.acquire({write("b")}));
  EXPECT_TRUE(hold.release());
}

// SEM 9: the plain form
TEST_P(LocksTest, ThePlainForm) {
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  const Stamp stamp = mine.try_locks({write("ws2"), read("ws1")}).value();
  ASSERT_TRUE(stamp);
  EXPECT_TRUE(mine.valid(stamp));
  EXPECT_FALSE(mine.lost(stamp).stop_requested());
  EXPECT_FALSE(other.valid(stamp)) << "not managed there";
  EXPECT_EQ(other.try_locks({write("ws2")}).value(), Stamp{}) << "0 means contention";
  EXPECT_EQ(code_of(other.release_locks(stamp)), Errc::not_held) << "another application's";
  EXPECT_EQ(code_of(mine.release_locks({stamp.value + 1})), Errc::not_held);
  EXPECT_TRUE(mine.valid(stamp));
  EXPECT_TRUE(mine.release_locks(stamp));
  EXPECT_FALSE(mine.valid(stamp));
  EXPECT_EQ(code_of(mine.release_locks(stamp)), Errc::not_held);
  EXPECT_TRUE(other.try_locks({write("ws2")}).value());
}

// SEM 9: also from another manager of the same application
TEST_P(LocksTest, ReleaseByStampFromATwin) {
  Locks mine = locks({.app = "app"});
  Locks twin = locks({.app = "app"});
  const Stamp stamp = mine.acquire_locks({write("a")}).value();
  EXPECT_TRUE(twin.release_locks(stamp));
  EXPECT_TRUE(space().look().empty());
}

TEST_P(LocksTest, DestroyingTheManagerReleasesThePlainFormsHolds) {
  {
    Locks mine = locks();
    EXPECT_TRUE(mine.try_locks({write("a")}).value());
    (void)mine.acquire_locks({write("b")}).value();
    EXPECT_EQ(space().look().size(), 2U);
  }
  EXPECT_TRUE(space().look().empty());
}

// SEM 13: waits until granted
TEST_P(LocksTest, AcquireWaitsForTheRelease) {
  Locks mine = locks({.app = "mine"});
  const auto counter = std::make_shared<test::EventCounts>();
  Locks other = locks({.app = "other", .observer = counter});
  Hold hold = mine.acquire({write("a"), write("b")}).value();
  const Stamp before = hold.stamp();
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return counter->busy > 0; })) ADD_FAILURE() << "it did not wait";
      EXPECT_TRUE(hold.release());
      return;
    }
    const Hold got = other.acquire({write("b"), write("c")}, {.wait = patience}).value();
    EXPECT_GT(got.stamp(), before);
    EXPECT_TRUE(got.valid());
  });
}

// SEM 13: waits for an expiry, which nobody announces
TEST_P(LocksTest, AcquireWaitsForAnExpiry) {
  Client dead = client("dead");
  const Stopwatch watch;
  dead.take({write("a")}, {.lease = 400ms});
  Locks mine = locks();
  const Hold got = mine.acquire({write("a")}, {.wait = 3 * patience}).value();
  EXPECT_GE(BootClock::now(), watch.began() + 400ms - clock_grain);
  EXPECT_LT(watch.elapsed(), 3s);
  EXPECT_TRUE(got.valid());
}

// SEM 13: at the deadline the wait ends; nothing is held and nobody waits any more
TEST_P(LocksTest, AcquireEndsAtItsDeadline) {
  Locks mine = locks({.app = "mine"});
  Locks other = locks({.app = "other"});
  const Hold hold = mine.acquire({write("b")}).value();
  const Stopwatch watch;
  const Result<Hold> result = other.acquire({write("a"), write("b"), write("c")}, {.wait = 200ms});
  EXPECT_EQ(code_of(result), Errc::timeout);
  EXPECT_GE(BootClock::now() - watch.began(), 200ms);
  EXPECT_LT(watch.elapsed(), 3s);
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(mine.inspect().value().waiters.empty());
}

// SEM 13: a wait of 0 is one try
TEST_P(LocksTest, AWaitOfNothingIsOneTry) {
  Locks mine = locks();
  const Hold hold = mine.acquire({write("a")}, {.wait = 0s}).value();
  EXPECT_EQ(code_of(mine.acquire({write("a")}, {.wait = 0s})), Errc::timeout);
}

// SEM 13: cancellation
TEST_P(LocksTest, AcquireCanBeCancelled) {
  Locks mine = locks({.app = "mine"});
  const auto counter = std::make_shared<test::EventCounts>();
  Locks other = locks({.app = "other", .observer = counter});
  const Hold hold = mine.acquire({write("a")}).value();
  std::stop_source stop;
  run_threads(2, [&](std::size_t i) {
    if (i == 0) {
      if (!eventually([&] { return counter->busy > 0; })) ADD_FAILURE() << "it did not wait";
      stop.request_stop();
      return;
    }
    const Stopwatch watch;
    EXPECT_EQ(code_of(other.acquire({write("a")}, {.wait = 1min, .stop = stop.get_token()})),
              Errc::cancelled);
    EXPECT_LT(watch.elapsed(), patience);
  });
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(mine.inspect().value().waiters.empty());
}

// SEM 13: all waiters are admitted, one after the other
TEST_P(LocksTest, ManyWaitersAllComeIn) {
  constexpr std::size_t threads = 6;
  constexpr int rounds = 8;
  Locks mine = locks();
  std::atomic<int> inside = 0;
  std::atomic<int> done = 0;
  run_threads(threads, [&](std::size_t i) {
    for (int round = 0; round < rounds; ++round) {
      const Wanted wanted = i % 2 == 0 ? Wanted{write("a"), write("b")} : Wanted{write("a")};
      Hold hold = mine.acquire(wanted, {.wait = 2 * patience}).value();
      if (++inside != 1) ADD_FAILURE() << "two are inside";
      if (!hold.valid()) ADD_FAILURE() << "granted, but not valid";
      --inside;
      ++done;
    }
  });
  EXPECT_EQ(done, static_cast<int>(threads) * rounds);
  EXPECT_TRUE(space().look().empty());
}

// SEM 2, 3, 10: the caller's mistakes
TEST_P(LocksTest, MistakesAreInvalid) {
  Locks mine = locks();
  EXPECT_EQ(code_of(mine.acquire(Wanted{})), Errc::invalid);
  EXPECT_EQ(code_of(mine.acquire({write("a"), read("a")})), Errc::invalid);
  EXPECT_EQ(code_of(mine.acquire({write("*")})), Errc::invalid);
  EXPECT_EQ(code_of(mine.acquire({write("@app:x")})), Errc::invalid);
  EXPECT_EQ(code_of(mine.try_locks({write("a\nb")})), Errc::invalid);
  EXPECT_EQ(code_of(mine.try_acquire({write(std::string(256, 'x'))})), Errc::invalid);
  EXPECT_EQ(code_of(mine.acquire({write("a")}, {.lease = 999ms})), Errc::invalid);
  EXPECT_EQ(code_of(mine.set_permits("a", Mode::read, 0)), Errc::invalid);
  EXPECT_EQ(code_of(mine.set_permits("@app:x", Mode::read, 2)), Errc::invalid);
  EXPECT_TRUE(space().look().empty());
}

// SEM 3: exact duplicates merge
TEST_P(LocksTest, DuplicatesMerge) {
  Locks mine = locks();
  const Hold hold = mine.acquire({write("a"), write("a"), read("b"), read("b")}).value();
  EXPECT_EQ(hold.items().size(), 2U);
}

// SEM 7: an acquire called after set_permits returned obeys it, whichever manager set it
TEST_P(LocksTest, PermitsAreObeyedAtOnceByOtherManagers) {
  Locks admin = locks({.app = "admin"});
  Locks mine = locks({.app = "mine"});
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(admin.set_permits("a", Mode::read, max_permits));
    Hold one = mine.acquire({read("a")}).value();
    Hold two = mine.acquire({read("a")}, {.wait = 0s}).value();
    ASSERT_TRUE(two.release());
    ASSERT_TRUE(admin.set_permits("a", Mode::read, {}));
    ASSERT_FALSE(mine.try_acquire({read("a")}).value());
  }
}

// SEM 10: at most the space's longest lease, from the change on
TEST_P(LocksTest, TheSpacesLongestLeaseIsObeyedAtOnce) {
  Locks admin = locks({.app = "admin"});
  Locks mine = locks({.app = "mine"});
  ASSERT_TRUE(mine.acquire({write("a")}, {.lease = 60s}));
  ASSERT_TRUE(admin.set_max_lease(5s));
  EXPECT_EQ(code_of(mine.acquire({write("a")}, {.lease = 60s})), Errc::invalid);
  const Hold hold = mine.acquire({write("a")}, {.lease = 5s}).value();
  EXPECT_LE(hold.lease(), 5s);
  EXPECT_LE(admin.inspect().value().holds.at(0).remaining.value(), 5s);
}

// SEM 8: floors, through the hold
TEST_P(LocksTest, AHoldKnowsItsFloors) {
  if (skip_unless(traits().floors, "floors")) return;
  Locks mine = locks();
  ASSERT_TRUE(mine.set_permits("a", Mode::read, 2));
  const Hold one = mine.acquire({read("a")}).value();
  const Hold two = mine.acquire({read("a"), write("b")}).value();
  EXPECT_EQ(two.floor("a"), one.stamp());
  EXPECT_EQ(two.floor("b"), two.stamp());
  EXPECT_EQ(two.floor("c"), Stamp{});
}

// SEM 17
TEST_P(LocksTest, InspectionShowsApplicationAndLabel) {
  Locks mine = locks({.app = "backup", .label = "carl@example nightly"});
  const Hold hold = mine.acquire({write("a")}).value();
  const Hold other = mine.acquire({write("b")}, {.label = "of its own"}).value();
  const std::vector<HoldInfo> holds = mine.inspect().value().holds;
  ASSERT_EQ(holds.size(), 2U);
  EXPECT_EQ(holds[0].owner.app, "backup");
  EXPECT_EQ(holds[0].owner.label, "carl@example nightly");
  EXPECT_EQ(holds[1].owner.label, "of its own");
  EXPECT_EQ(holds[0].owner.instance, holds[1].owner.instance);
  EXPECT_FALSE(holds[0].owner.instance.empty());
}

// A detached hold continues without its manager, until a process of its application releases it
TEST_P(LocksTest, ADetachedHoldGoesOn) {
  if (skip_unless(traits().holds_outlive_process, "holds that outlive their process")) return;
  Stamp stamp;
  {
    Locks mine = locks({.app = "app"});
    Hold hold = mine.acquire({write("a")}).value();
    stamp = hold.detach().value();
    EXPECT_FALSE(hold.valid());
  }
  EXPECT_EQ(space().look().size(), 1U);
  Locks twin = locks({.app = "app"});
  EXPECT_TRUE(twin.renew_locks(stamp, 20s));
  EXPECT_TRUE(twin.release_locks(stamp));
  EXPECT_EQ(code_of(twin.renew_locks(stamp)), Errc::not_held);
}

// SEM 11: detach is refused if the hold could not continue, and the hold stays held
TEST_P(LocksTest, DetachIsUnsupportedWithoutTheTrait) {
  if (skip_unless(!traits().holds_outlive_process, "a refusal to detach")) return;
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(code_of(hold.detach()), Errc::unsupported);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release());
}

// SEM 14: a lost reply of an acquire becomes a grant or nothing, never a ghost
TEST_P(LocksTest, ALostReplyOfAnAcquireIsResolved) {
  const auto bad = std::make_unique<test::FaultyBackend>(open(), test::test_seed());
  test::FaultyBackend& faulty = *bad;
  const auto counter = std::make_shared<test::EventCounts>();
  // The manager owns a separate backend; the decorator outlives it here.
  class Borrowed final : public ForwardingBackend {
   public:
    explicit Borrowed(Backend& other)
        : ForwardingBackend(std::shared_ptr<Backend>(std::shared_ptr<void>(), &other)) {}
  };
  Locks mine =
      lockset::open(std::make_unique<Borrowed>(faulty), {.app = "app", .observer = counter})
          .value();
  faulty.script(test::Call::try_acquire, test::Fault::lose_reply);
  Hold hold = mine.acquire({write("a")}, {.wait = patience}).value();
  EXPECT_TRUE(hold.valid());
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].stamp, hold.stamp());
  EXPECT_GE(counter->resolved, 1);
  EXPECT_TRUE(hold.release());
  EXPECT_TRUE(space().look().empty());

  // Nothing was applied: the core tries again within the wait.
  faulty.script(test::Call::try_acquire, test::Fault::fail_before);
  EXPECT_TRUE(mine.acquire({write("a")}, {.wait = patience}));

  // SEM 9: the retry of a release whose reply was lost finds the hold gone, and that is a success.
  Hold again = mine.acquire({write("b")}, {.wait = patience}).value();
  faulty.script(test::Call::release, test::Fault::lose_reply);
  const Status released = again.release();
  EXPECT_TRUE(released) << released.error().message;
}

// SEM 12: a live twin
TEST_P(LocksTest, ReclaimIsRefusedWhileATwinLives) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  Locks first = locks({.app = "app", .reclaim = true});
  const Result<Locks> second =
      lockset::open(space().open().value(), {.app = "app", .reclaim = true});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::app_in_use);
  EXPECT_TRUE(lockset::open(space().open().value(), {.app = "other", .reclaim = true}));
}

// SEM 12: takeover from a dead instance
TEST_P(LocksTest, ReclaimTakesOverFromTheDead) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  Client dead = client("app");
  dead.take({write("a"), write("b")}, {.lease = 10min});
  dead.take({write("c")}, {.lease = 10min});
  client("other").take({write("d")});
  Locks now = locks({.app = "app", .reclaim = true});
  const Hold hold = now.acquire({write("a"), write("b"), write("c")}, {.wait = 0s}).value();
  EXPECT_TRUE(hold.valid());
  EXPECT_FALSE(now.try_acquire({write("d")}).value()) << "another application's";
}

// SEM 12: after a clean end the id is free
TEST_P(LocksTest, ReclaimAfterACleanEnd) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  { Locks first = locks({.app = "app", .reclaim = true}); }
  EXPECT_TRUE(space().look().empty());
  EXPECT_TRUE(lockset::open(space().open().value(), {.app = "app", .reclaim = true}));
}

// SEM 7, 12: the older instance's acquires are refused, and its holds are lost
TEST_P(LocksTest, TheOlderInstanceIsSuperseded) {
  if (skip_unless(traits().can_reclaim, "reclaim")) return;
  Locks old = locks({.app = "app", .reclaim = true, .lease = 6s});
  Hold work = old.acquire({write("a")}).value();
  // An operator who knows that it hangs breaks its hold on the id.
  Locks admin = locks({.app = "admin"});
  Stamp id;
  for (const HoldInfo& info : admin.inspect().value().holds) {
    if (info.items == Wanted{write("@app:app")}) id = info.stamp;
  }
  ASSERT_TRUE(id);
  ASSERT_TRUE(admin.break_hold(id));
  Locks young = locks({.app = "app", .reclaim = true});
  EXPECT_FALSE(admin.inspect({InspectQuery::Match::name, "a"}).value().holds.size() > 0);
  EXPECT_EQ(code_of(old.acquire({write("b")}, {.wait = patience})), Errc::superseded);
  EXPECT_TRUE(eventually([&] { return work.lost().stop_requested(); }));
  EXPECT_FALSE(work.valid());
  EXPECT_TRUE(young.acquire({write("a"), write("b")}, {.wait = patience}));
}

LOCKSET_CONFORMANCE_SUITE(LocksTest);

}  // namespace
}  // namespace lockset::conformance
