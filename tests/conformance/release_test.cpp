// SEM 9: release, by stamp and by the owner's application, once.
#include <array>
#include <atomic>
#include <barrier>
#include <limits>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Release : public Conformance {};

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

// SEM 9: a stamp of the past does not hit the next holder of the same set
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
  // Nor by another process of it, which knows nothing of the hold.
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

// SEM 9: any client of the owning application may
TEST_P(Release, AnyClientOfTheApplicationMay) {
  Client owner = client("app");
  Client twin(open(), "app");
  const Grant grant = owner.take({write("a")});
  EXPECT_TRUE(twin.release(grant.stamp));
  EXPECT_FALSE(owner.release(grant.stamp));
}

// SEM 9: only the hold that is named
TEST_P(Release, OneOfSeveralHoldsOnAName) {
  Client c = client();
  c.set_permits("a", Mode::read, 3);
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

// SEM 9, 17: nor do a release and a break both claim it
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
