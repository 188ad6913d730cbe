// Nodes that forget. Redlock lets a node that was restarted empty grant at once, and then two
// majorities may hold at the same time. Here such a node does not count until the leases of before
// have ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/migration_mark.h"
#include "core/quorum_mark.h"
#include "history/check.h"
#include "tests/quorum/nodes.h"
#include "tests/support/recorder.h"
#include "tests/support/recording_backend.h"

namespace lockset::test {
namespace {

using State = QuorumMark::State;

std::optional<QuorumMark> mark_in(Nodes& nodes, std::size_t node) {
  return QuorumMark::decode(nodes.alone(node)->load_config(soon()).value().migration_phase);
}

void set_mark(Nodes& nodes, std::size_t node, QuorumMark mark) {
  (void)nodes.alone(node)->change_config(SetMigrationPhase{mark.encode()}, soon()).value();
}

// Two processes: the first one holds `a` on nodes 1 and 2. Node 2 forgets. The second one can't
// reach node 1, and asks nodes 2 and 3. Returns what the checker says about it.
history::Report two_majorities(const std::function<void(Nodes&)>& after_the_loss) {
  Nodes nodes;
  const auto recorder = [](const std::string& name) { return std::make_shared<Recorder>(name); };
  const auto first_log = recorder("first");
  const auto second_log = recorder("second");
  {
    const Process one = nodes.open({2});
    const Process two = nodes.open({0});
    Client first(std::make_shared<RecordingBackend>(one.backend, first_log));
    Client second(std::make_shared<RecordingBackend>(two.backend, second_log));
    (void)first.take(a);
    nodes.wipe(1);
    after_the_loss(nodes);
    // As the core does; each refusal is right.
    for (int i = 0; i < 20; ++i) {
      const Result<AcquireOutcome> outcome = second.ask_once(a);
      if (outcome && std::holds_alternative<Grant>(*outcome)) break;
      if (two.backend->load_config(soon())) second.reload();
    }
  }
  history::Rules rules;
  rules.records_lost = false;
  return history::check({first_log->log(), second_log->log()}, rules).value();
}

// Redlock: a node that comes back empty takes part as if nothing had happened. This is what the
// rest of this file is about: it grants twice.
TEST(QuorumForgetting, WithoutQuarantineTwoMajoritiesHoldAtOnce) {
  const history::Report report = two_majorities([&](Nodes& nodes) {
    QuorumMark mark = *mark_in(nodes, 0);
    mark.index = 1;
    set_mark(nodes, 1, mark);
  });
  EXPECT_GT(report.found_of(history::Invariant::exclusion), 0U)
      << "the checker did not notice that two held at once";
}

TEST(QuorumForgetting, ANodeThatWasWipedGrantsNothing) {
  const history::Report report = two_majorities([](Nodes&) {});
  EXPECT_EQ(report.found_of(history::Invariant::exclusion), 0U);
  EXPECT_EQ(report.counts.grants, 1U);
}

TEST(QuorumForgetting, ANodeThatWasSetUpAgainWaitsFirst) {
  const history::Report report = two_majorities([](Nodes& nodes) {
    nodes.init().value();
    EXPECT_EQ(mark_in(nodes, 1)->state, State::joining);
  });
  EXPECT_EQ(report.found_of(history::Invariant::exclusion), 0U);
  EXPECT_EQ(report.counts.grants, 1U);
}

TEST(QuorumForgetting, ANodeCountsAgainOnceTheLeasesOfBeforeHaveEnded) {
  Nodes nodes;
  nodes.wipe(1);
  nodes.init().value();
  ASSERT_FALSE(nodes.try_open({0}));
  nodes.clocks[1]->advance(9min);
  ASSERT_FALSE(nodes.try_open({0})) << "the longest lease is ten minutes";
  nodes.clocks[1]->advance(2min);
  const Process process = nodes.open({0});
  Client c = Nodes::client(process);
  (void)c.take(a);
  EXPECT_EQ(nodes.in(1).size(), 1U);
  // Another run of init has nothing left to do but say so.
  nodes.init().value();
  EXPECT_EQ(mark_in(nodes, 1)->state, State::member);
}

// SEM 8. Stamps are ahead of the calendar, and the node that both majorities share forgot by how
// much.
TEST(QuorumForgetting, StampsGoUpAllTheSame) {
  Nodes nodes;
  const Process one = nodes.open({2});
  Client first = Nodes::client(one);
  const Stamp start = first.take({write("x")}).stamp;
  const Stamp day{start.value + (std::int64_t{16} * 86'400'000'000)};
  const Stamp before = first.take(a, {.min_stamp = day}).stamp;
  ASSERT_GE(before, day);
  nodes.wipe(1);
  nodes.init().value();
  nodes.clocks[1]->advance(11min);
  const Process two = nodes.open({0});
  Client second = Nodes::client(two);
  EXPECT_GT(second.take({write("y")}).stamp, before);
}

TEST(QuorumForgetting, ANodeThatWasWipedUnderARunningClientDoesNotCount) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a);
  nodes.wipe(0);
  EXPECT_TRUE(c.renew(grant.stamp, 1min)) << "a majority has it";
  nodes.wipe(2);
  EXPECT_FALSE(c.renew(grant.stamp, 1min));
  const Result<AcquireOutcome> outcome = c.ask_once({write("b")});
  EXPECT_FALSE(outcome && std::holds_alternative<Grant>(*outcome)) << "one node is left";
  EXPECT_FALSE(process.backend->load_config(soon()));
}

// As the core does with a hold in one store, the quorum does with a part.
TEST(QuorumForgetting, ANodeInQuarantineIsToldOfItsPartAgain) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a);
  for (const std::size_t node : {0, 1}) process.to[node]->forgets = true;
  EXPECT_TRUE(c.renew(grant.stamp, 1min));
  for (const std::size_t node : {0, 1}) {
    EXPECT_EQ(Stamp{process.to[node]->registered}, nodes.in(node).at(0).stamp);
  }
  EXPECT_EQ(process.to[2]->registered, 0);
}

TEST(QuorumForgetting, APartThatHadEndedDoesNotComeBack) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  const Grant grant = c.take(a, {.lease = 500ms});
  // Node 2 is not asked for long, and the lease of its part ends.
  process.to[1]->down = true;
  ASSERT_TRUE(c.renew(grant.stamp, 10min));
  linger(600ms);
  process.to[1]->down = false;
  process.to[1]->forgets = true;
  EXPECT_TRUE(eventually([&] {
    const std::size_t before = process.to[1]->calls;
    EXPECT_TRUE(c.renew(grant.stamp, 10min)) << "a majority has it";
    return process.to[1]->calls > before;
  }));
  EXPECT_EQ(process.to[1]->registered, 0);
}

// --- lists of nodes that differ ---

TEST(QuorumMarks, ASpaceCanBeANodeOnlyOnce) {
  Nodes nodes;
  std::vector<quorum::NodeAddress> addresses = nodes.addresses();
  addresses[2] = addresses[0];
  const Status status = quorum::init_nodes(addresses, soon());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured);
  EXPECT_THAT(status.error().message, testing::HasSubstr("node 1"));
  EXPECT_FALSE(quorum::open_quorum_backend({addresses[0], addresses[0], addresses[0]}, soon()));
}

TEST(QuorumMarks, NodesOfTwoQuorumsDoNotMix) {
  Nodes one;
  Nodes two;
  std::vector<quorum::NodeAddress> mixed = one.addresses();
  mixed[2] = two.addresses()[2];
  EXPECT_FALSE(quorum::init_nodes(mixed, soon()));
  // A majority is right; the stranger does not count.
  Result<std::unique_ptr<Backend>> opened = quorum::open_quorum_backend(mixed, soon());
  ASSERT_TRUE(opened);
  Client c(std::shared_ptr<Backend>(*std::move(opened)));
  (void)c.take(a);
  EXPECT_TRUE(two.in(2).empty());
}

// A node was replaced by another one. Programs with the old list must not take locks with the old
// node and one of the others.
TEST(QuorumMarks, AnEarlierListOfNodesLosesItsMajority) {
  Nodes nodes;
  Nodes spare;
  std::vector<quorum::NodeAddress> earlier = nodes.addresses();
  std::vector<quorum::NodeAddress> later = earlier;
  spare.wipe(2);
  later[2] = spare.addresses()[2];
  Client old_client(std::shared_ptr<Backend>(quorum::open_quorum_backend(earlier, soon()).value()));
  quorum::init_nodes(later, soon()).value();
  const Result<AcquireOutcome> outcome = old_client.ask(a);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(nodes.in(2).empty()) << "the node that was replaced does not count any more";
  EXPECT_EQ(nodes.in(0).size() + nodes.in(1).size(), 2U);
}

TEST(QuorumMarks, FoundingIsCompletedByAnotherRun) {
  Nodes nodes;
  QuorumMark mark = *mark_in(nodes, 0);
  nodes.wipe(2);
  // As if a first run had been interrupted after two nodes.
  for (const std::size_t node : {0U, 1U}) {
    mark.index = static_cast<int>(node);
    mark.state = State::founding;
    set_mark(nodes, node, mark);
  }
  ASSERT_FALSE(nodes.try_open());
  nodes.init().value();
  for (std::size_t node = 0; node < 3; ++node) {
    EXPECT_EQ(mark_in(nodes, node)->state, State::member) << "nobody had taken a lock";
  }
  EXPECT_TRUE(nodes.try_open());
}

TEST(QuorumMarks, ComeBackFromANumberThatEveryStoreKeeps) {
  for (const int count : {3, 5, 7, 9}) {
    for (const State state : {State::founding, State::member, State::joining}) {
      const QuorumMark mark{.state = state,
                            .quorum = most_quorum_number,
                            .generation = 255,
                            .nodes = count,
                            .index = count - 1};
      EXPECT_EQ(QuorumMark::decode(mark.encode()), mark);
      EXPECT_LE(mark.encode(), std::int64_t{1} << 48);
      EXPECT_GT(mark.encode(), 0);
    }
  }
  for (const std::int64_t other :
       {std::int64_t{0}, std::int64_t{17 << 8 | 2}, std::int64_t{16}, std::int64_t{-1}}) {
    EXPECT_FALSE(QuorumMark::decode(other)) << other;
  }
}

TEST(QuorumMarks, KeepThoseOutWhoUseANodeAlone) {
  Nodes nodes;
  const std::int64_t phase = nodes.alone(0)->load_config(soon()).value().migration_phase;
  const Status status = may_use_alone(phase);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Errc::misconfigured);
  EXPECT_THAT(status.error().message, testing::HasSubstr("quorum"));
}

// --- the configuration ---

TEST(QuorumConfiguration, AChangeNeedsEveryNode) {
  Nodes nodes;
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  process.to[1]->down = true;
  const Result<SpaceConfig> refused = process.backend->change_config(SetMaxLease{5min}, soon());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::unavailable);
  EXPECT_EQ(nodes.alone(0)->load_config(soon()).value().max_lease, 10min) << "nothing was changed";
  process.to[1]->down = false;
  EXPECT_TRUE(process.backend->change_config(SetMaxLease{5min}, soon()));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(nodes.alone(i)->load_config(soon()).value().max_lease, 5min);
  }
}

// Three holds with two permits each on two of three nodes: no node sees more than two.
TEST(QuorumConfiguration, PermitsThatAMajorityCannotCountAreRefused) {
  Nodes nodes;
  const Process process = nodes.open();
  for (const ConfigChange& change : {ConfigChange(SetPermits{"a", Mode::write, 2}),
                                     ConfigChange(SetPermits{"a", Mode::read, 5})}) {
    const Result<SpaceConfig> refused = process.backend->change_config(change, soon());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::unsupported);
  }
  // Somebody set them in the nodes themselves.
  for (std::size_t i = 0; i < 3; ++i) {
    (void)nodes.alone(i)->change_config(SetPermits{"*", Mode::write, 2}, soon()).value();
  }
  const Process one = nodes.open({0});
  const Process two = nodes.open({1});
  Client first = Nodes::client(one);
  Client second = Nodes::client(two);
  (void)first.take(a);
  second.meet_busy(a);
}

TEST(QuorumConfiguration, WhereNodesDifferTheLowerPermitsCount) {
  Nodes nodes;
  for (const std::size_t i : {0U, 1U}) {
    (void)nodes.alone(i)->change_config(SetPermits{"a", Mode::read, max_permits}, soon()).value();
  }
  const Process process = nodes.open();
  Client c = Nodes::client(process);
  EXPECT_EQ(c.config().permits_of("a").read, 1U);
}

}  // namespace
}  // namespace lockset::test
