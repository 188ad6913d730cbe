#include "tests/support/faulty_backend.h"

#include <gtest/gtest.h>

#include "lockset/memory_backend.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

class FaultyBackendTest : public testing::Test {
 protected:
  std::shared_ptr<Backend> store_ = make_memory_backend(make_memory_store());
  std::shared_ptr<FaultyBackend> faulty_ = std::make_shared<FaultyBackend>(store_, 1);
  Client bad_{faulty_};
  Client good_{store_};

  Errc code_of_acquire() {
    const Result<AcquireOutcome> outcome = bad_.ask({write("a")});
    return outcome ? Errc::internal : outcome.error().code;
  }
};

TEST_F(FaultyBackendTest, WithoutFaultsItIsTheBackendItself) {
  const Grant grant = bad_.take({write("a")});
  EXPECT_TRUE(good_.is_live(grant.stamp));
  EXPECT_TRUE(bad_.release(grant.stamp));
  EXPECT_EQ(faulty_->calls(Call::try_acquire), 1U);
  EXPECT_EQ(faulty_->calls(Call::release), 1U);
}

TEST_F(FaultyBackendTest, FailBeforeAppliesNothing) {
  faulty_->script(Call::try_acquire, Fault::fail_before);
  EXPECT_EQ(code_of_acquire(), Errc::unavailable);
  EXPECT_TRUE(good_.holds().empty());
  EXPECT_EQ(faulty_->injected(Fault::fail_before), 1U);
}

TEST_F(FaultyBackendTest, LostReplyIsApplied) {
  faulty_->script(Call::try_acquire, Fault::lose_reply);
  EXPECT_EQ(code_of_acquire(), Errc::indeterminate);
  EXPECT_EQ(good_.holds().size(), 1U);

  const Stamp stamp = good_.holds().at(0).stamp;
  faulty_->script(Call::release, Fault::lose_reply);
  EXPECT_EQ(faulty_->release(stamp, "app", soon()).error().code, Errc::indeterminate);
  EXPECT_TRUE(good_.holds().empty());
}

TEST_F(FaultyBackendTest, LostReplyOfAReadIsUnavailable) {
  faulty_->script(Call::inspect, Fault::lose_reply);
  EXPECT_EQ(faulty_->inspect({}, soon()).error().code, Errc::unavailable);
}

TEST_F(FaultyBackendTest, DelayedRequestArrivesWhenDelivered) {
  faulty_->script(Call::try_acquire, Fault::delay);
  EXPECT_EQ(code_of_acquire(), Errc::indeterminate);
  EXPECT_TRUE(good_.holds().empty());
  EXPECT_EQ(faulty_->deliver_late(), 1U);
  EXPECT_EQ(good_.holds().at(0).items, Wanted{write("a")});
  EXPECT_EQ(faulty_->deliver_late(), 0U);
}

TEST_F(FaultyBackendTest, DelayedRequestArrivesByItselfBeforeALaterChange) {
  faulty_->deliver_by_itself(true);
  const Grant grant = bad_.take({write("a")});
  faulty_->script(Call::release, Fault::delay);
  EXPECT_EQ(faulty_->release(grant.stamp, "app", soon()).error().code, Errc::indeterminate);
  EXPECT_EQ(good_.holds().size(), 1U);
  EXPECT_FALSE(bad_.release(grant.stamp)) << "the delayed one came first";
}

TEST_F(FaultyBackendTest, DuplicateReachesTheStoreTwice) {
  const Grant grant = bad_.take({write("a")});
  faulty_->script(Call::release, Fault::duplicate);
  EXPECT_FALSE(bad_.release(grant.stamp)) << "the second answer is the caller's";
}

TEST_F(FaultyBackendTest, ScriptsAreForOneKindOfCallInTheirOrder) {
  faulty_->script(Call::try_acquire, Fault::fail_before);
  faulty_->script(Call::try_acquire, Fault::lose_reply);
  EXPECT_TRUE(bad_.holds().empty());
  EXPECT_EQ(code_of_acquire(), Errc::unavailable);
  EXPECT_EQ(code_of_acquire(), Errc::indeterminate);
}

TEST_F(FaultyBackendTest, TheSameSeedGivesTheSameFaults) {
  const auto run = [&](std::uint64_t seed) {
    FaultyBackend backend(store_, seed);
    backend.set_rates(Call::inspect, {.fail_before = 0.5});
    std::string outcome;
    for (int i = 0; i < 64; ++i) outcome += backend.inspect({}, soon()).ok() ? '.' : 'x';
    return outcome;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_NE(run(7), run(8));
  EXPECT_NE(run(7).find('.'), std::string::npos);
  EXPECT_NE(run(7).find('x'), std::string::npos);
}

TEST_F(FaultyBackendTest, TheSeedIsInTheDescription) {
  EXPECT_NE(faulty_->describe().find("LOCKSET_TEST_SEED=1:"), std::string::npos);
}

}  // namespace
}  // namespace lockset::test
