// SEM 4, 5: readers of one name that do not compare its version with each other, and the writers
// who compare with all of them. ADR 0080.
#include "backends/zookeeper/shares.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "backends/zookeeper/address.h"
#include "backends/zookeeper/housekeeping.h"
#include "backends/zookeeper/store.h"
#include "lockset/url.h"
#include "tests/zookeeper/fixture.h"

namespace lockset::zookeeper_tests {
namespace {

using zookeeper::share_count;

class Shares : public ZookeeperTest {
 protected:
  // A token of this share.
  static Token in_share(std::size_t share) {
    while (true) {
      const Token token = Token::random();
      if (zookeeper::share_of(token.hex()) == share) return token;
    }
  }
  static test::Ask in(std::size_t share) { return {.token = in_share(share)}; }

  // As readers who met often leave it.
  void split(const std::string& name) {
    const std::string shares = root() + "/names/" + name + "/shares";
    ASSERT_EQ(raw().create(shares, ""), 0);
    for (std::size_t share = 0; share < share_count; ++share) {
      ASSERT_EQ(raw().create(shares + "/" + zookeeper::share_part(share), ""), 0);
    }
    ASSERT_EQ(raw().set(root() + "/names/" + name, ""), 0);
  }
  [[nodiscard]] std::int32_t version_of(const std::string& name) {
    return raw().get(root() + "/names/" + name).value().version;
  }
  static void take_and_release(Client& client, const Wanted& wanted) {
    EXPECT_TRUE(client.release(client.take(wanted).stamp));
  }
};

TEST_F(Shares, AllPermitsBelongToOne) {
  for (const std::uint32_t permits : {1U, 15U, 16U, 17U, 64U, 1000U, 4294967295U}) {
    std::uint64_t sum = 0;
    for (std::size_t share = 0; share < share_count; ++share) {
      sum += zookeeper::permits_of_share(share, permits);
    }
    EXPECT_EQ(sum, permits);
  }
}

// The writer knows the name from its own last grant, and asks at once.
TEST_F(Shares, AWriterComparesEachOfThem) {
  Client writer = client("writer");
  Client reader = client("reader");
  reader.set_permits("a", Mode::read, 1000);
  writer.reload();
  take_and_release(writer, {write("a")});
  split("a");
  for (std::size_t share = 0; share < share_count; ++share) {
    SCOPED_TRACE(share);
    for (int i = 0; i < 3; ++i) take_and_release(writer, {write("a")});
    const std::int32_t before = version_of("a");
    const Stamp stamp = reader.take({read("a")}, in(share)).stamp;
    EXPECT_EQ(version_of("a"), before) << "it did not read beside others";
    const Busy busy = writer.meet_busy({write("a")});
    EXPECT_EQ(busy.holder, stamp);
    EXPECT_TRUE(reader.release(stamp));
  }
}

// A reader whose request is made from a state before the write.
TEST_F(Shares, AReaderComparesTheName) {
  Client writer = client("writer");
  Client reader = client("reader");
  reader.set_permits("a", Mode::read, 1000);
  writer.reload();
  take_and_release(writer, {write("a")});
  split("a");
  std::atomic<bool> ended = false;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Client mine = client("reader" + std::to_string(i));
      mine.reload();
      while (!ended) {
        const auto grant = mine.try_take({read("a")});
        if (!grant) continue;
        EXPECT_TRUE(mine.release(grant->stamp));
      }
    });
  }
  int writes = 0;
  for (int i = 0; i < 60; ++i) {
    const auto grant = writer.try_take({write("a")});
    if (!grant) continue;
    ++writes;
    const std::vector<HoldInfo> holds = writer.holds();
    EXPECT_EQ(holds.size(), 1U) << "a reader beside a writer";
    EXPECT_TRUE(writer.release(grant->stamp));
  }
  ended = true;
  threads.clear();
  EXPECT_GT(writes, 0) << "nothing was tested";
}

// SEM 4: also if the readers' tokens all belong to one share, whose permits do not suffice.
TEST_F(Shares, AllPermitsCanBeTakenAndNoMore) {
  constexpr std::uint32_t permits = 64;
  Client mine = client();
  mine.set_permits("a", Mode::read, permits);
  take_and_release(mine, {read("a")});
  split("a");
  std::vector<Stamp> stamps;
  for (std::uint32_t i = 0; i < permits; ++i) {
    stamps.push_back(mine.take({read("a")}, in(i % 3 == 0 ? 5 : i % share_count)).stamp);
  }
  for (std::size_t share = 0; share < share_count; ++share) {
    EXPECT_FALSE(mine.try_take({read("a")}, in(share))) << share;
  }
  EXPECT_TRUE(mine.release(stamps.front()));
  EXPECT_TRUE(mine.try_take({read("a")}, in(7)));
  EXPECT_FALSE(mine.try_take({read("a")}, in(7)));
}

// SEM 6: those who came by more permits may be too many for their share.
TEST_F(Shares, FewerPermitsStopAllReaders) {
  Client mine = client();
  mine.set_permits("a", Mode::read, 64);
  take_and_release(mine, {read("a")});
  split("a");
  std::vector<Stamp> stamps;
  for (int i = 0; i < 4; ++i) stamps.push_back(mine.take({read("a")}, in(3)).stamp);
  mine.set_permits("a", Mode::read, 4);
  for (std::size_t share = 0; share < share_count; ++share) {
    EXPECT_FALSE(mine.try_take({read("a")}, in(share))) << share;
  }
  EXPECT_TRUE(mine.release(stamps.front()));
  // No share may admit by itself what the others' permits are for.
  const std::int32_t before = version_of("a");
  EXPECT_TRUE(mine.try_take({read("a")}, in(0)));
  EXPECT_EQ(version_of("a"), before + 1);
  EXPECT_FALSE(mine.try_take({read("a")}, in(1)));
}

// Two readers of one share at once, with one permit left in it: of 64 permits never 65 are taken.
TEST_F(Shares, ReadersOfOneShareCompareIt) {
  constexpr std::uint32_t permits = 64;
  Client mine = client();
  mine.set_permits("a", Mode::read, permits);
  take_and_release(mine, {read("a")});
  split("a");
  for (std::uint32_t i = 0; i < permits - 1; ++i) mine.take({read("a")}, in(i % share_count));
  // One permit is left, in the last share.
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> granted = 0;
    std::vector<std::jthread> threads;
    std::vector<std::shared_ptr<Backend>> backends;
    for (int i = 0; i < 4; ++i) backends.push_back(open());
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        Client other(backends.at(static_cast<std::size_t>(i)), "other");
        other.reload();
        const auto grant = other.try_take({read("a")}, in(share_count - 1));
        if (!grant) return;
        ++granted;
        test::linger(50ms);
        EXPECT_TRUE(other.release(grant->stamp));
      });
    }
    threads.clear();
    EXPECT_LE(mine.holds().size(), permits);
    EXPECT_GE(granted, 1);
  }
}

// Housekeeping takes the shares with the name; but not while readers come.
TEST_F(Shares, GoWithAnIdleName) {
  Client mine = client();
  mine.set_permits("a", Mode::read, 1000);
  take_and_release(mine, {read("a")});
  split("a");
  const auto options = zookeeper::parse_address(Url::parse(url()).value()).value();
  const auto space = zookeeper::OpenSpace::open(options, soon()).value();
  zookeeper::Housekeeping housekeeping(*space);
  const Stamp stamp = mine.take({read("a")}, in(1)).stamp;
  EXPECT_EQ(housekeeping.collect(-1min, soon()).value(), 0U);
  EXPECT_TRUE(mine.release(stamp));
  EXPECT_EQ(housekeeping.collect(1min, soon()).value(), 0U);
  EXPECT_EQ(housekeeping.collect(-1min, soon()).value(), 1U);
  EXPECT_FALSE(raw().get(root() + "/names/a"));
  EXPECT_TRUE(mine.release(mine.take({read("a")}, in(1)).stamp));
  EXPECT_TRUE(mine.release(mine.take({write("a")}).stamp));
}

// Readers who meet split the name by themselves, and it goes when it is idle (collect_test).
TEST_F(Shares, ReadersWhoMeetOftenSplitTheName) {
  Client mine = client();
  mine.set_permits("a", Mode::read, 1000);
  std::vector<std::jthread> threads;
  std::atomic<bool> is_split = false;
  std::mutex looking;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Client other = client("other");
      other.reload();
      const TimePoint until = BootClock::now() + long_time;
      while (!is_split && BootClock::now() < until) {
        const Grant grant = other.take({read("a")});
        EXPECT_TRUE(other.release(grant.stamp));
        const std::lock_guard lock(looking);
        if (raw().get(root() + "/names/a/shares")) is_split = true;
      }
    });
  }
  threads.clear();
  EXPECT_TRUE(is_split);
  for (std::size_t share = 0; share < share_count; ++share) {
    take_and_release(mine, {read("a"), write("b")});
  }
}

}  // namespace
}  // namespace lockset::zookeeper_tests
