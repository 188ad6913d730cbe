// What a majority grants while nodes are down, hang, or answer late.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/quorum/nodes.h"

namespace lockset::test {
namespace {

using quorum::part_of_stamp;

std::size_t parts(Nodes& nodes, std::size_t count = 3) {
  std::size_t result = 0;
  for (std::size_t i = 0; i < count; ++i) result += nodes.in(i).size();
  return result;
}

TEST(Quorum, AHoldHasAPartInEachNode) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a);
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 3; }));
  EXPECT_TRUE(c.release(grant.stamp));
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; }));
}

TEST(Quorum, GrantsWithoutANodeAndExcludesWithoutAnotherOne) {
  Nodes nodes;
  const Process one = nodes.open({2});
  const Process two = nodes.open({0});
  Client first = Nodes::client(one);
  Client second = Nodes::client(two);
  const Grant grant = first.take(a);
  EXPECT_EQ(second.meet_busy(a).name, "a");
  EXPECT_EQ(nodes.in(2).size(), 0U) << "the minority's part was given back";
  EXPECT_TRUE(first.release(grant.stamp));
  EXPECT_GT(second.take(a).stamp, grant.stamp);
}

TEST(Quorum, GrantsNothingWithoutAMajority) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[0]->down = true;
  process.to[2]->down = true;
  const Result<AcquireOutcome> outcome = c.ask_once(a);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::unavailable);
  EXPECT_THAT(outcome.error().message, testing::HasSubstr("node 3: the network is down"));
  EXPECT_EQ(parts(nodes), 0U);
}

// Parts of an attempt that no majority granted do not stay.
TEST(Quorum, AMinorityIsGivenBack) {
  Nodes nodes;
  const Process process = nodes.open();
  // Holds of another quorum's client that has died: nodes 1 and 2 are taken.
  const Process other = nodes.open({2});
  Client dead = Nodes::client(other, "dead");
  const Grant grant = dead.take(a);
  Client c = Nodes::client(process);
  const Busy busy = c.meet_busy(a);
  EXPECT_EQ(busy.holder, grant.stamp) << "by the stamp that its owner knows";
  EXPECT_TRUE(nodes.in(2).empty());
}

TEST(Quorum, ANodeThatHangsHoldsUpNobody) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[1]->hang();
  const Stopwatch watch;
  const Ask ask{.by = in(20s)};
  const Grant grant = c.take(a, ask);
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
  EXPECT_TRUE(c.release(grant.stamp));
  EXPECT_LT(watch.elapsed(), 5s) << "a majority had answered";
  process.to[1]->let_answers_through();
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; })) << "what arrived late is given back";
}

// A part that is granted after the majority was complete makes the hold safer.
TEST(Quorum, ALatePartJoinsTheHold) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[2]->hold_answers_back();
  // Ahead of all clocks, so that all draw the same stamp: with stamps that differ, a part that is
  // late may be too high to join.
  using std::chrono::system_clock;
  const auto tomorrow = (system_clock::now() + 24h).time_since_epoch();
  const std::int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(tomorrow).count();
  const Grant grant = c.take(a, {.min_stamp = Stamp{16 * us}});
  ASSERT_TRUE(eventually([&] { return process.to[2]->acquires == 1; }));
  process.to[2]->let_answers_through();
  // The node that was late is now one of a majority without the first one.
  process.to[0]->down = true;
  EXPECT_TRUE(eventually([&] {
    const HoldRef hold = c.known(grant.stamp);
    const RenewRequest request{hold, 1min};
    const Result<RenewReply> reply = process.backend->renew(c.owner(), {&request, 1}, soon());
    return reply && reply->renewals[0].has_value();
  }));
}

// But not if the hold has ended meanwhile.
TEST(Quorum, ALatePartOfAnEndedHoldIsGivenBack) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[2]->hold_answers_back();
  const Grant grant = c.take(a);
  ASSERT_TRUE(eventually([&] { return process.to[2]->acquires == 1; }));
  EXPECT_TRUE(c.release(grant.stamp));
  EXPECT_EQ(nodes.in(2).size(), 1U);
  process.to[2]->let_answers_through();
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; }));
}

// A lost answer of a node is no hold of anybody.
TEST(Quorum, APartOfUnknownOutcomeIsLookedUpAndGivenBack) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[0]->hold_answers_back();
  process.to[1]->hold_answers_back();
  const Result<AcquireOutcome> outcome = c.ask_once(a, {.by = in(300ms)});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Errc::indeterminate) << outcome.error().message;
  process.to[0]->let_answers_through();
  process.to[1]->let_answers_through();
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; })) << "long before the lease ends";
}

TEST(Quorum, ANodeThatIsDownIsNotAskedAgainAndAgain) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[1]->down = true;
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(c.release(c.take(a).stamp));
  const std::size_t before = process.to[1]->calls;
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(c.release(c.take(a).stamp));
  EXPECT_LT(process.to[1]->calls - before, 100U) << "only probes, and not one for each call";
  process.to[1]->down = false;
  // It is found by itself, and takes part again.
  EXPECT_TRUE(eventually([&] {
    const Grant grant = c.take(a);
    const bool all = eventually([&] { return parts(nodes) == 3; }, 100ms);
    EXPECT_TRUE(c.release(grant.stamp));
    return all;
  }));
}

TEST(Quorum, OpensWithoutAMinority) {
  Nodes nodes;
  EXPECT_TRUE(nodes.try_open({1}));
  const Result<Process> none = nodes.try_open({0, 1});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::unavailable);
  EXPECT_THAT(none.error().message, testing::HasSubstr("node 1: the network is down"));
}

// --- validity ---

TEST(Quorum, AHoldIsLostWithItsMajority) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a);
  ASSERT_TRUE(eventually([&] { return parts(nodes) == 3; }));
  const auto break_in = [&](std::size_t node) {
    EXPECT_TRUE(nodes.alone(node)->break_hold(HoldRef(nodes.in(node).at(0).stamp), soon()).value());
  };
  break_in(1);
  EXPECT_TRUE(c.renew(grant.stamp, 1min)) << "a majority has it";
  break_in(0);
  EXPECT_FALSE(c.renew(grant.stamp, 1min));
  EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; })) << "the rest keeps nobody out";
}

TEST(Quorum, WithoutAnswersOfAMajorityARenewalIsUnknown) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a);
  ASSERT_TRUE(eventually([&] { return parts(nodes) == 3; }));
  process.to[0]->down = true;
  process.to[1]->down = true;
  const RenewRequest request{c.known(grant.stamp), 1min};
  const Result<RenewReply> reply = process.backend->renew(c.owner(), {&request, 1}, soon());
  EXPECT_FALSE(reply) << "one confirmation is not enough";
}

// The lease of a renewal is what a majority has at least, not what the best node has.
TEST(Quorum, ARenewalLastsAsLongAsAMajorityHasIt) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a, {.lease = 1min});
  ASSERT_TRUE(eventually([&] { return parts(nodes) == 3; }));
  // One node has it for longer than the others.
  const HoldInfo part = nodes.in(0).at(0);
  const RenewRequest longer{HoldRef(part.stamp), 9min};
  (void)nodes.alone(0)->renew(part.owner, {&longer, 1}, soon()).value();
  EXPECT_LE(c.renew(grant.stamp, 1min)->lease, 1min);
  EXPECT_LE(*c.holds().at(0).remaining, 1min);
}

// --- other processes ---

TEST(Quorum, AnotherProcessEndsAHoldByItsStamp) {
  for (const bool exact : {true, false}) {
    Nodes nodes(3, exact);
    nodes.clocks[1]->advance(5s);
    const Process one = nodes.open();
    const Process two = nodes.open();
    Client first = Nodes::client(one);
    Client second = Nodes::client(two);
    const Grant grant = first.take(a);
    EXPECT_EQ(second.holds().at(0).stamp, grant.stamp);
    EXPECT_TRUE(second.renew(grant.stamp, 1min));
    EXPECT_TRUE(second.release(grant.stamp));
    EXPECT_FALSE(first.release(grant.stamp));
    EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; }));
    const Grant again = first.take(a);
    EXPECT_TRUE(second.break_hold(again.stamp));
    EXPECT_FALSE(first.renew(again.stamp, 1min));
  }
}

TEST(Quorum, AReleaseSucceedsWithoutANode) {
  Nodes nodes;
  const Process process = nodes.open();
  for (const std::size_t node : {0U, 1U, 2U}) {
    Client c = Nodes::client(process);
    const Grant grant = c.take(a);
    ASSERT_TRUE(eventually([&] { return parts(nodes) == 3; }));
    process.to[node]->down = true;
    EXPECT_TRUE(c.release(grant.stamp)) << "without node " << node + 1;
    process.to[node]->down = false;
    EXPECT_TRUE(eventually([&] { return parts(nodes) == 0; })) << "it is made up for";
  }
}

}  // namespace
}  // namespace lockset::test
