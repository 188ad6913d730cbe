// SEM 8: stamps, the stamp base, floors.
#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Stamps : public Conformance {};

// SEM 8: a positive integer
TEST_P(Stamps, AreSeededFromTheClockSoThatAWipedSpaceDoesNotReuseThem) {
  using std::chrono::microseconds;
  const auto wall = [] {
    return std::chrono::duration_cast<microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t before = wall();
  const std::unique_ptr<Space> fresh = harness().new_space();
  const std::shared_ptr<Backend> store = fresh->open().value();
  Client c(store);
  const Stamp stamp = c.take({write("a")}).stamp;
  // A minute either way, because the server has its own clock.
  const std::int64_t unit = harness().harness_traits().stamps_per_us;
  EXPECT_GE(stamp.value / unit, before - 60'000'000);
  EXPECT_LE(stamp.value / unit, wall() + 60'000'000);
}

// SEM 8: if A returned before B was asked for, A < B; across releases
TEST_P(Stamps, GrowOverReleases) {
  Client c = client();
  Stamp last;
  for (int i = 0; i < 100; ++i) {
    const Grant grant = c.take({write("a")});
    ASSERT_GT(grant.stamp, last);
    last = grant.stamp;
    ASSERT_TRUE(c.release(grant.stamp));
  }
}

// SEM 8: across names and clients
TEST_P(Stamps, GrowOverNamesAndClients) {
  Client clients[] = {Client(open(), "one"), Client(open(), "two"), Client(open(), "three")};
  Stamp last;
  for (int i = 0; i < 60; ++i) {
    const Grant grant = clients[i % 3].take({write("n" + std::to_string(i))});
    ASSERT_GT(grant.stamp, last);
    last = grant.stamp;
  }
}

// SEM 8: across expiry
TEST_P(Stamps, GrowOverExpiry) {
  Client c = client();
  const Grant first = c.take({write("a")}, {.lease = 20ms});
  std::optional<Grant> second;
  ASSERT_TRUE(eventually([&] { return (second = c.try_take({write("a")})).has_value(); }));
  EXPECT_GT(second->stamp, first.stamp);
}

// SEM 8: across breaking, with busy answers in between
TEST_P(Stamps, GrowOverBreaking) {
  Client c = client();
  const Grant first = c.take({write("a")});
  c.meet_busy({write("a")});
  ASSERT_TRUE(c.break_hold(first.stamp));
  EXPECT_GT(c.take({write("a")}).stamp, first.stamp);
}

// SEM 8: across a reopened client; if the store lives on, even after all clients ended
TEST_P(Stamps, GrowOverReopening) {
  Stamp last;
  for (int i = 0; i < 5; ++i) {
    Client c(open());
    const Grant grant = c.take({write("n" + std::to_string(i))});
    ASSERT_GT(grant.stamp, last);
    last = grant.stamp;
  }
}

// SEM 8, migration: at least what the request asks for, and later stamps are above it
TEST_P(Stamps, AreAtLeastTheMinimumThatTheRequestNames) {
  Client c = client();
  const Grant first = c.take({write("a")});
  const Stamp minimum{first.stamp.value + 5'000'000'000'000};
  const Grant second = c.take({write("b")}, {.min_stamp = minimum});
  EXPECT_GE(second.stamp, minimum);
  const Grant third = c.take({write("c")});
  EXPECT_GT(third.stamp, second.stamp);
  // A minimum in the past changes nothing.
  EXPECT_GT(c.take({write("d")}, {.min_stamp = first.stamp}).stamp, third.stamp);
}

// SEM 8: every stamp granted from now on is greater than the base
TEST_P(Stamps, AreGreaterThanTheBase) {
  Client c = client();
  const Grant first = c.take({write("a")});
  const Stamp base{first.stamp.value + 5'000'000'000'000};
  c.change(RaiseStampBase{base});
  const Stamp raised = c.config().stamp_base;
  const std::int64_t unit = harness().harness_traits().stamps_per_us;
  EXPECT_EQ(raised.value, (base.value + unit - 1) / unit * unit);
  const Grant second = c.take({write("b")});
  EXPECT_GT(second.stamp, raised);
  // A lower value changes neither the base nor the order.
  c.change(RaiseStampBase{{1}});
  EXPECT_EQ(c.config().stamp_base, raised);
  EXPECT_GT(c.take({write("c")}).stamp, second.stamp);
}

// SEM 8: real-time order and uniqueness under concurrency. Each thread takes and releases its own
// names and shared ones; a stamp that was seen before a call must be below that call's stamp.
TEST_P(Stamps, KeepRealTimeOrderUnderConcurrency) {
  constexpr std::size_t threads = 4;
  const int grants_each = rounds(150, 60);
  std::mutex mutex;
  Stamp highest_returned;  // of all grants that have returned
  std::set<Stamp> all;
  Progress progress;
  run_threads(threads, [&](std::size_t i) {
    Client c(open());
    int granted = 0;
    for (int round = 0; granted < grants_each && !progress.stuck(); ++round) {
      const Wanted wanted = round % 3 == 0 ? Wanted{write("shared")}
                                           : Wanted{write("own" + std::to_string(i)), write("x")};
      Stamp before;
      {
        const std::lock_guard lock(mutex);
        before = highest_returned;
      }
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take(wanted);
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      ++granted;
      progress.step();
      {
        const std::lock_guard lock(mutex);
        if (grant->stamp <= before) {
          ADD_FAILURE() << grant->stamp.value << " was granted by a call made after "
                        << before.value << " had been returned";
        }
        if (!all.insert(grant->stamp).second) ADD_FAILURE() << "twice: " << grant->stamp.value;
        highest_returned = std::max(highest_returned, grant->stamp);
      }
      c.release(grant->stamp);
    }
    EXPECT_EQ(granted, grants_each) << "thread " << i << " got stuck";
  });
}

// SEM 8: of two conflicting grants the later one has the greater stamp, as the resource sees it:
// every holder writes its stamp where the last one wrote its own.
TEST_P(Stamps, GrowPerNameInTheOrderOfTheHolders) {
  std::map<std::string, Stamp> resource{{"a", {}}, {"b", {}}, {"c", {}}};
  std::mutex mutex;  // protects the map as an object; the locks give the order
  const int grants_each = rounds(100, 50);
  std::atomic<int> grants = 0;
  Progress progress;
  run_threads(4, [&](std::size_t i) {
    Client c(open());
    const std::string one = std::string(1, static_cast<char>('a' + i % 3));
    const std::string two = std::string(1, static_cast<char>('a' + (i + 1) % 3));
    for (int done = 0; done < grants_each && !progress.stuck();) {
      const TimePoint asked = BootClock::now();
      const std::optional<Grant> grant = c.try_take({write(one), write(two)});
      if (!grant) {
        pause_after_try(asked);
        continue;
      }
      {
        const std::lock_guard lock(mutex);
        for (const std::string& name : {one, two}) {
          if (resource[name] >= grant->stamp) ADD_FAILURE() << "a fenced resource refuses " << name;
          resource[name] = grant->stamp;
        }
      }
      c.release(grant->stamp);
      ++done;
      ++grants;
      progress.step();
    }
  });
  EXPECT_EQ(grants, 4 * grants_each);
}

// SEM 8: the floor is the lowest live stamp of the name, this one included
TEST_P(Stamps, FloorsAreTheLowestLiveStamps) {
  if (skip_unless(traits().floors, "floors")) return;
  Client c = client();
  c.set_permits("a", Mode::read, 3);
  c.set_permits("b", Mode::write, 2);
  const Grant one = c.take({read("a"), write("b")});
  EXPECT_EQ(one.floors, (std::vector<Stamp>{one.stamp, one.stamp}));
  const Grant two = c.take({read("a"), write("c")});
  EXPECT_EQ(two.floors, (std::vector<Stamp>{one.stamp, two.stamp}));
  const Grant three = c.take({read("a"), write("b")});
  EXPECT_EQ(three.floors, (std::vector<Stamp>{one.stamp, one.stamp}));
  ASSERT_TRUE(c.release(one.stamp));
  const Grant four = c.take({read("a"), write("b")});
  EXPECT_EQ(four.floors, (std::vector<Stamp>{two.stamp, three.stamp}));
}

// SEM 8: an expired hold is no floor
TEST_P(Stamps, AnExpiredHoldIsNoFloor) {
  if (skip_unless(traits().floors, "floors")) return;
  Client c = client();
  c.set_permits("a", Mode::read, 3);
  const Grant brief = c.take({read("a")}, {.lease = 20ms});
  ASSERT_TRUE(expired(c, {brief}));
  const Grant next = c.take({read("a")});
  EXPECT_EQ(next.floors, std::vector<Stamp>{next.stamp});
}

// SEM 8, contract: without the trait the list is empty
TEST_P(Stamps, FloorsComeOnlyWithTheTrait) {
  const Grant grant = client().take({write("a"), read("b")});
  EXPECT_EQ(grant.floors.size(), traits().floors ? 2U : 0U);
}

LOCKSET_CONFORMANCE_SUITE(Stamps);

}  // namespace
}  // namespace lockset::conformance
