// SEM 3 (lock set) and SEM 5 (all or nothing).
#include <atomic>
#include <thread>

#include "tests/conformance/suite.h"
#include "tests/support/effort.h"

namespace lockset::conformance {
namespace {

class LockSets : public Conformance {};

// SEM 5
TEST_P(LockSets, TheWholeSetIsGrantedUnderOneStamp) {
  Client c = client();
  const Grant grant = c.take({write("b"), read("a"), write("c")});
  const std::vector<RawHold> raw = space().look();
  ASSERT_EQ(raw.size(), 1U);
  EXPECT_EQ(raw[0].stamp, grant.stamp);
  EXPECT_EQ(raw[0].items, (Wanted{read("a"), write("b"), write("c")}));
}

// SEM 5: "or leaves no trace", no matter which item fails
TEST_P(LockSets, BusyLeavesNoTrace) {
  Client c = client();
  for (const std::string taken : {"a", "b", "c"}) {
    SCOPED_TRACE(taken);
    const Grant first = c.take({write(taken)});
    c.meet_busy({write("a"), write("b"), write("c")});
    EXPECT_EQ(space().look().size(), 1U);
    for (const std::string other : {"a", "b", "c"}) {
      if (other == taken) continue;
      const Grant grant = c.take({write(other)});
      ASSERT_TRUE(c.release(grant.stamp));
    }
    ASSERT_TRUE(c.release(first.stamp));
  }
}

// SEM 5: the common names decide; the rest of the set is not touched
TEST_P(LockSets, OverlappingSetsExclude) {
  Client c = client();
  const Grant ab = c.take({write("a"), write("b")});
  c.meet_busy({write("b"), write("c")});
  const Grant only_c = c.take({write("c")});
  ASSERT_TRUE(c.release(ab.stamp));
  c.meet_busy({write("b"), write("c")});
  ASSERT_TRUE(c.release(only_c.stamp));
  EXPECT_TRUE(c.take({write("b"), write("c")}).stamp);
}

// SEM 9: the hold ends as a whole
TEST_P(LockSets, ReleaseEndsTheWholeSet) {
  Client c = client();
  const Grant grant = c.take({write("a"), read("b"), write("c")});
  ASSERT_TRUE(c.release(grant.stamp));
  EXPECT_TRUE(space().look().empty());
  EXPECT_TRUE(c.take({write("a"), write("b"), write("c")}).stamp);
}

// SEM 3: at most 256
TEST_P(LockSets, TwoHundredAndFiftySixNames) {
  Client c = client();
  Wanted wanted;
  for (int i = 0; i < 256; ++i) {
    wanted.push_back({"name" + std::to_string(1000 + i), i % 2 == 0 ? Mode::read : Mode::write});
  }
  const Grant grant = c.take(wanted);
  ASSERT_EQ(space().look().size(), 1U);
  EXPECT_EQ(space().look()[0].items, wanted);
  EXPECT_EQ(c.holds().at(0).items, wanted);
  c.meet_busy({write("name1000")});
  c.meet_busy({write("name1255")});
  c.meet_busy({write("x"), write("name1101")});
  ASSERT_TRUE(c.renew(grant.stamp, 1min));
  ASSERT_TRUE(c.release(grant.stamp));
  EXPECT_TRUE(space().look().empty());
}

// SEM 3: 256 names of 255 bytes
TEST_P(LockSets, TheLargestSetOfTheLongestNames) {
  Client c = client();
  Wanted wanted;
  for (int i = 0; i < 256; ++i) {
    wanted.push_back(write(std::string(252, 'x') + std::to_string(100 + i)));
  }
  const Grant grant = c.take(wanted);
  EXPECT_EQ(space().look().at(0).items, wanted);
  c.meet_busy({wanted[255]});
  ASSERT_TRUE(c.release(grant.stamp));
}

// SEM 5: "No observer ever sees part of it"
TEST_P(LockSets, NobodyEverSeesPartOfASet) {
  const Wanted whole{write("a"), write("b"), write("c"), write("d")};
  std::atomic<bool> done = false;
  std::atomic<std::size_t> looks = 0;
  // How often the observers saw a hold, by each of the three ways to look.
  std::atomic<std::size_t> seen_by_all = 0;
  std::atomic<std::size_t> seen_by_name = 0;
  std::atomic<std::size_t> seen_raw = 0;
  const auto seen_enough = [&] {
    return seen_by_all >= 20 && seen_by_name >= 20 && seen_raw >= 20;
  };
  const std::shared_ptr<Backend> mine = open();
  const std::shared_ptr<Backend> other = open();
  const bool slow_looks = traits().session_leases;
  const int least = slow_looks ? test::rounds(100, 300) : 300;
  run_threads(3, [&](std::size_t i) {
    if (i == 0) {
      Client c(mine);
      // Until the observers have seen holds often enough.
      const TimePoint until = BootClock::now() + 3 * patience;
      for (int round = 0; round < least || !seen_enough(); ++round) {
        if (BootClock::now() > until) break;
        const Grant grant = c.take(whole);
        // With several reads per look, some holds stay until every observer has seen them.
        if (slow_looks && round % 4 == 0) {
          const std::size_t all = seen_by_all, name = seen_by_name, raw = seen_raw;
          eventually([&] { return seen_by_all > all && seen_by_name > name && seen_raw > raw; });
        }
        if (!c.release(grant.stamp)) ADD_FAILURE() << "not held any more";
      }
      done = true;
    } else if (i == 1) {
      Client c(other);
      while (!done) {
        for (const HoldInfo& hold : c.holds()) {
          if (hold.items != whole) ADD_FAILURE() << "inspect shows part: " << describe(hold.items);
          ++seen_by_all;
        }
        // By name too, because that may be another query to the store.
        for (const HoldInfo& hold : c.inspect({InspectQuery::Match::name, "d"}).holds) {
          if (hold.items != whole) ADD_FAILURE() << "by name shows part: " << describe(hold.items);
          ++seen_by_name;
        }
        ++looks;
      }
    } else {
      while (!done) {
        for (const RawHold& hold : space().look()) {
          if (hold.items != whole) ADD_FAILURE() << "the store has part: " << describe(hold.items);
          ++seen_raw;
        }
        ++looks;
      }
    }
  });
  EXPECT_GE(looks, 20U) << "the observers hardly looked";
  EXPECT_TRUE(seen_enough()) << "the observers saw next to nothing";
}

// SEM 5: sets taken in opposite orders never block each other for good. Bounded by tries, and every
// thread has to make progress.
TEST_P(LockSets, OppositeOrdersMakeProgress) {
  const int rounds = this->rounds(1000, 150);
  std::atomic<int> inside = 0;
  Progress progress;
  run_threads(2, [&](std::size_t i) {
    Client c(open());
    const Wanted wanted = i == 0 ? Wanted{write("a"), write("b")} : Wanted{write("b"), write("a")};
    int done = 0;
    while (done < rounds && !progress.stuck()) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take(wanted);
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      if (++inside != 1) ADD_FAILURE() << "both are inside";
      --inside;
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
      ++done;
      progress.step();
    }
    EXPECT_EQ(done, rounds) << "thread " << i << " got stuck";
  });
  EXPECT_TRUE(space().look().empty());
}

// SEM 5: a ring of overlapping pairs, one thread each
TEST_P(LockSets, ARingOfPairsMakesProgress) {
  constexpr std::size_t threads = 4;
  const int rounds = this->rounds(100, 50);
  std::atomic<int> holders[threads] = {};
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    const std::size_t next = (i + 1) % threads;
    const Wanted wanted{write("n" + std::to_string(i)), write("n" + std::to_string(next))};
    int done = 0;
    while (done < rounds && !progress.stuck()) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take(wanted);
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      if (++holders[i] != 1 || ++holders[next] != 1) ADD_FAILURE() << "two holders of one name";
      --holders[i];
      --holders[next];
      if (!c.release(grant->stamp)) ADD_FAILURE() << "not held any more";
      ++done;
      progress.step();
    }
    EXPECT_EQ(done, rounds) << "thread " << i << " got stuck";
  });
  EXPECT_TRUE(space().look().empty());
}

LOCKSET_CONFORMANCE_SUITE(LockSets);

}  // namespace
}  // namespace lockset::conformance
