// SEM 9: release, by stamp and by the owner's application, once.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <limits>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Release : public Conformance {};

// For a caller that did not take these holds.
std::vector<HoldRef> by_stamp(const std::vector<Stamp>& stamps) {
  return {stamps.begin(), stamps.end()};
}

// SEM 9
TEST_P(Release, FreesTheSetForTheNext) {
  Client c = client();
  for (int round = 0; round < 10; ++round) {
    const Grant grant = c.take({write("a"), read("b")});
    EXPECT_TRUE(c.release(grant.stamp));
  }
}

// SEM 9: "once"
TEST_P(Release, TheSecondTimeItIsNotHeld) {
  Client c = client();
  const Grant grant = c.take({write("a")});
  EXPECT_TRUE(c.release(grant.stamp));
  EXPECT_FALSE(c.release(grant.stamp));
}

// SEM 9: the wrong stamp touches nobody
TEST_P(Release, AWrongStampTouchesNobody) {
  Client c = client();
  const Grant grant = c.take({write("a")});
  for (const std::int64_t wrong :
       {grant.stamp.value - 1, grant.stamp.value + 1, std::int64_t{0}, std::int64_t{-1},
        -grant.stamp.value, std::int64_t{1}, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_FALSE(c.release({wrong})) << wrong;
  }
  EXPECT_TRUE(c.is_live(grant.stamp));
  c.meet_busy({write("a")});
}

// SEM 9: an old stamp does not hit the next holder of the same set
TEST_P(Release, AnOldStampDoesNotHitTheNextHolder) {
  Client c = client();
  const Grant old = c.take({write("a")});
  ASSERT_TRUE(c.release(old.stamp));
  const Grant next = c.take({write("a")});
  EXPECT_FALSE(c.release(old.stamp));
  EXPECT_TRUE(c.is_live(next.stamp));
}

// SEM 9: another application's hold
TEST_P(Release, AnotherApplicationsHoldIsNotHeldByUs) {
  Client owner = client("owner");
  Client other = client("other");
  const Grant grant = owner.take({write("a")});
  EXPECT_FALSE(other.release(grant.stamp));
  // Another process of the same application, which knows nothing about the hold, can't either.
  Client stranger(open(), "other");
  EXPECT_FALSE(stranger.release(grant.stamp));
  EXPECT_TRUE(owner.is_live(grant.stamp));
  EXPECT_TRUE(owner.release(grant.stamp));
}

// SEM 9: application ids are compared by their bytes
TEST_P(Release, ApplicationIdsAreComparedByTheirBytes) {
  Client owner = client("App");
  const Grant grant = owner.take({write("a")});
  for (const char* other : {"app", "APP", "App ", " App", "Ap", "Appp", "App%", "*", ""}) {
    EXPECT_FALSE(backend()->release(grant.stamp, other, soon()).value()) << other;
  }
  EXPECT_TRUE(owner.release(grant.stamp));
}

// SEM 9: any client of the owning application may release
TEST_P(Release, AnyClientOfTheApplicationMay) {
  Client owner = client("app");
  Client twin(open(), "app");
  const Grant grant = owner.take({write("a")});
  EXPECT_TRUE(twin.release(grant.stamp));
  EXPECT_FALSE(owner.release(grant.stamp));
}

// SEM 9: many in one call, each independently
TEST_P(Release, ManyAtOnceAreReleasedEachByItself) {
  Client c = client("app");
  Client other = client("other");
  std::vector<Stamp> stamps;
  std::vector<bool> expected;
  const auto expect = [&](Stamp stamp, bool ends) {
    stamps.push_back(stamp);
    expected.push_back(ends);
  };
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    expect(c.take({write("a" + n), read("b" + n)}).stamp, true);
    expect(c.take({write("c" + n)}).stamp, true);
  }
  const Grant released = c.take({write("d")});
  ASSERT_TRUE(c.release(released.stamp));
  expect(released.stamp, false);
  const Grant foreign = other.take({write("e")});
  expect(foreign.stamp, false);
  expect({1}, false);
  const Grant stays = c.take({write("f"), read("g")});
  // Backwards: the store may use another order.
  std::reverse(stamps.begin(), stamps.end());
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(backend()->release_all(c.known(stamps), "app", soon()).value(), expected);
  const auto left = space().look();
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].stamp, foreign.stamp);
  EXPECT_EQ(left[1].stamp, stays.stamp);
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    EXPECT_TRUE(other.take({write("a" + n), write("b" + n), write("c" + n)}).stamp);
  }
  EXPECT_EQ(backend()->release_all({}, "app", soon()).value(), std::vector<bool>());
  const std::vector<bool> none(stamps.size(), false);
  EXPECT_EQ(backend()->release_all(c.known(stamps), "app", soon()).value(), none)
      << "a second time";
}

// SEM 9: also by a client that does not know the holds
TEST_P(Release, AnotherClientOfTheApplicationMayReleaseMany) {
  Client owner = client("app");
  std::vector<Stamp> stamps;
  for (int i = 0; i < 5; ++i) {
    stamps.push_back(owner.take({write("a" + std::to_string(i)), write("b")}).stamp);
    stamps.push_back(owner.take({read("c" + std::to_string(i))}).stamp);
    EXPECT_TRUE(owner.release(stamps[stamps.size() - 2]));
  }
  const std::vector<bool> ended = open()->release_all(by_stamp(stamps), "app", soon()).value();
  EXPECT_EQ(std::count(ended.begin(), ended.end(), true), 5);
  EXPECT_TRUE(space().look().empty());
}

// SEM 9: "exactly one succeeds"
TEST_P(Release, OfTwoWhoReleaseTheSameManyEachEndsItsOwn) {
  Client c = client("app");
  std::vector<Stamp> stamps;
  for (int i = 0; i < 60; ++i) stamps.push_back(c.take({write("a" + std::to_string(i))}).stamp);
  std::array<std::shared_ptr<Backend>, 2> clients{backend(), open()};
  std::array<std::vector<bool>, 2> ended;
  std::barrier start(2);
  run_threads(2, [&](std::size_t i) {
    std::vector<HoldRef> mine = i == 0 ? c.known(stamps) : by_stamp(stamps);
    if (i == 1) std::reverse(mine.begin(), mine.end());
    start.arrive_and_wait();
    ended[i] = clients[i]->release_all(mine, "app", soon()).value();
  });
  std::reverse(ended[1].begin(), ended[1].end());
  for (std::size_t i = 0; i < stamps.size(); ++i) {
    EXPECT_NE(static_cast<bool>(ended[0][i]), static_cast<bool>(ended[1][i])) << i;
  }
  EXPECT_TRUE(space().look().empty());
}

// SEM 13: waiters for any of the names are woken
TEST_P(Release, ManyAtOnceWakeWhoWaits) {
  Locks holder = locks({.app = "holder"});
  Locks waiter = locks({.app = "waiter"});
  std::vector<Stamp> stamps;
  for (int i = 0; i < 20; ++i) {
    stamps.push_back(holder.try_locks({write("a" + std::to_string(i))}).value());
  }
  run_threads(3, [&](std::size_t i) {
    if (i == 2) {
      Client seen = Client(open(), "holder");
      seen.meet_busy({write("a3")});
      EXPECT_TRUE(seen.backend().release_all(by_stamp(stamps), "holder", soon()));
      return;
    }
    const Wanted wanted{write("a" + std::to_string(i)), write("a" + std::to_string(19 - i))};
    EXPECT_TRUE(waiter.acquire(wanted, {.wait = patience}));
  });
}

// SEM 9: a manager that closes releases everything that it holds
TEST_P(Release, ClosingReleasesManyHolds) {
  Locks admin = locks({.app = "admin"});
  const Hold other = admin.acquire({write("other")}).value();
  {
    Locks mine = locks({.app = "mine", .lease = 1min, .io_timeout = 30s});
    for (int i = 0; i < 300; ++i) {
      ASSERT_TRUE(mine.try_locks({write("n" + std::to_string(i))}).value());
    }
  }
  const auto left = space().look();
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].stamp, other.stamp());
}

// SEM 9: only the hold that is named
TEST_P(Release, OneOfSeveralHoldsOnAName) {
  Client c = client();
  c.set_permits("a", Mode::read, max_permits);
  const Grant one = c.take({read("a")});
  const Grant two = c.take({read("a")});
  const Grant three = c.take({read("a")});
  EXPECT_TRUE(c.release(two.stamp));
  EXPECT_TRUE(c.is_live(one.stamp));
  EXPECT_FALSE(c.is_live(two.stamp));
  EXPECT_TRUE(c.is_live(three.stamp));
}

// SEM 9: of two concurrent releases exactly one succeeds
TEST_P(Release, OfConcurrentReleasesExactlyOneSucceeds) {
  constexpr std::size_t threads = 2;
  constexpr int rounds = 200;
  Client c = client();
  std::array<Stamp, rounds> stamps;
  for (int i = 0; i < rounds; ++i) {
    stamps.at(static_cast<std::size_t>(i)) = c.take({write("n" + std::to_string(i))}).stamp;
  }
  std::array<std::atomic<int>, rounds> winners{};
  std::barrier together(threads);
  run_threads(threads, [&](std::size_t) {
    Client mine(open());
    for (std::size_t i = 0; i < rounds; ++i) {
      together.arrive_and_wait();
      if (mine.release(stamps.at(i))) ++winners.at(i);
    }
  });
  for (std::size_t i = 0; i < rounds; ++i) EXPECT_EQ(winners.at(i), 1) << "round " << i;
  EXPECT_TRUE(space().look().empty());
}

// SEM 9, 17: a release and a break do not both claim it
TEST_P(Release, OfAReleaseAndABreakExactlyOneSucceeds) {
  constexpr int rounds = 200;
  Client c = client();
  std::array<std::atomic<int>, rounds> winners{};
  std::array<Stamp, rounds> stamps;
  for (int i = 0; i < rounds; ++i) {
    stamps.at(static_cast<std::size_t>(i)) = c.take({write("n" + std::to_string(i))}).stamp;
  }
  std::barrier together(2);
  run_threads(2, [&](std::size_t who) {
    Client mine(open());
    for (std::size_t i = 0; i < rounds; ++i) {
      together.arrive_and_wait();
      const bool won = who == 0 ? mine.release(stamps.at(i)) : mine.break_hold(stamps.at(i));
      if (won) ++winners.at(i);
    }
  });
  for (std::size_t i = 0; i < rounds; ++i) EXPECT_EQ(winners.at(i), 1) << "round " << i;
}

LOCKSET_CONFORMANCE_SUITE(Release);

}  // namespace
}  // namespace lockset::conformance
