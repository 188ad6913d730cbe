// Each node draws stamps of its own; those of the quorum's holds go up all the same.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "backends/quorum/hold_tag.h"
#include "tests/quorum/nodes.h"
#include "tests/support/threads.h"

namespace lockset::test {
namespace {

TEST(QuorumStamps, AreTheProposalWhereTheNodesAgree) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  Stamp stamp;
  // The proposal is a little ahead of the clock. If the machine stalls for longer, a node draws a
  // stamp of its own.
  ASSERT_TRUE(eventually([&] {
    stamp = c.take(a).stamp;
    if (quorum::drawn_by(stamp) == quorum::agreed) return true;
    EXPECT_TRUE(c.release(stamp));
    return false;
  }));
  EXPECT_EQ(nodes.in(0).at(0).stamp, quorum::part_of_stamp(stamp));
  EXPECT_EQ(nodes.in(1).at(0).stamp, quorum::part_of_stamp(stamp));
}

// SEM 8. Of a majority only one node knows the greatest stamp. Without it the next majority must
// draw a greater one all the same.
TEST(QuorumStamps, GoUpAcrossDifferentMajorities) {
  for (const bool exact : {true, false}) {
    for (std::size_t ahead = 0; ahead < 3; ++ahead) {
      for (std::size_t missing = 0; missing < 3; ++missing) {
        if (missing == ahead) continue;
        Nodes nodes(3, exact);
        // Far enough ahead that no proposal reaches it.
        nodes.clocks[ahead]->advance(20s);
        const Process first = nodes.open({missing});
        const Process second = nodes.open({ahead});
        Client one = Nodes::client(first);
        Client two = Nodes::client(second);
        const Stamp before = one.take({write("x")}).stamp;
        const Stamp after = two.take({write("y")}).stamp;
        EXPECT_GT(after, before) << "node " << ahead + 1 << " ahead; exact: " << exact;
      }
    }
  }
}

// SEM 8: unique, and in real-time order, while many draw at once on nodes whose clocks differ.
TEST(QuorumStamps, AreUniqueAndOrderedUnderConcurrency) {
  for (const bool exact : {true, false}) {
    Nodes nodes(5, exact);
    nodes.clocks[1]->advance(3ms);
    nodes.clocks[4]->advance(5s);
    std::mutex mutex;
    std::set<Stamp> all;
    Stamp highest;
    constexpr std::size_t threads = 4;
    std::vector<Process> processes;
    for (std::size_t i = 0; i < threads; ++i) processes.push_back(nodes.open({i % 5}));
    run_threads(threads, [&](std::size_t i) {
      Client c = Nodes::client(processes[i]);
      for (int round = 0; round < 60; ++round) {
        Stamp before;
        {
          const std::lock_guard lock(mutex);
          before = highest;
        }
        const auto grant = c.try_take({write("n" + std::to_string(i) + std::to_string(round))});
        if (!grant) continue;
        const std::lock_guard lock(mutex);
        EXPECT_GT(grant->stamp, before);
        EXPECT_TRUE(all.insert(grant->stamp).second);
        highest = std::max(highest, grant->stamp);
      }
    });
    EXPECT_GT(all.size(), 200U);
  }
}

// A clock that is years ahead does not take the stamps of all along, as long as others do without.
TEST(QuorumStamps, AreNotTakenAlongByOneWrongClock) {
  Nodes nodes;
  nodes.clocks[0]->advance(24h * 365 * 10);
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const auto now_us = std::chrono::duration_cast<std::chrono::microseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  for (int i = 0; i < 20; ++i) {
    const Grant grant = c.take(a);
    EXPECT_LT(quorum::part_of_stamp(grant.stamp).value, now_us + 60'000'000);
    EXPECT_TRUE(c.release(grant.stamp));
  }
}

TEST(QuorumTag, ComesBackFromTheInstance) {
  const quorum::HoldTag tag{Token::random(), Stamp{1'700'000'000'000'000}};
  const std::string instance = quorum::tagged("3f09-0.1.0", tag);
  EXPECT_EQ(quorum::tag_of(instance), tag);
  EXPECT_EQ(quorum::without_tag(instance), "3f09-0.1.0");
  for (const char* other : {"3f09-0.1.0", "a+q", "a+q12.3", "a+1:2.3", ""}) {
    EXPECT_FALSE(quorum::tag_of(other)) << other;
    EXPECT_EQ(quorum::without_tag(other), other);
  }
}

}  // namespace
}  // namespace lockset::test
