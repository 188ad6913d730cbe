// Upgrading and downgrading over a store that fails, or answers, at a critical moment. SEM 29, 30.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/event_counts.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using test::Call;
using test::eventually;
using test::Fault;
using test::soon;
using ::testing::HasSubstr;

// Lets the test look and act before an attempt is sent, and when it is answered.
class Moments final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  std::function<void(const AcquireRequest&)> sending;
  std::function<void(Result<AcquireOutcome>&)> answered;
  std::function<void()> releasing;
  std::function<void(Stamp)> lost;

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (sending) sending(request);
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (answered) answered(outcome);
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    if (releasing) releasing();
    return inner().release(hold, app, by);
  }
  void watch_losses(std::function<void(Stamp)> tell) override { lost = std::move(tell); }
};

class ManagerConvert : public testing::Test {
 protected:
  Locks mine(Options options = {}) {
    options.app = "app";
    options.label = "me@home";
    options.observer = told_;
    return open(std::make_unique<ForwardingBackend>(moments_), options).value();
  }
  // Another client, past the faults.
  Locks other() { return open(make_memory_backend(store_), {.app = "other"}).value(); }
  std::vector<HoldInfo> stored() {
    return make_memory_backend(store_)->inspect({}, soon()).value().holds;
  }
  void share() {
    Locks operators = other();
    operators.set_permits("a", Mode::read, max_permits).value();
  }
  static Tried<std::optional<Hold>> convert(Hold& hold, bool up) {
    return up ? hold.try_upgrade() : hold.downgrade();
  }
  static LockRequest before(bool up) { return up ? read("a") : write("a"); }

  const std::shared_ptr<MemoryStore> store_ = make_memory_store();
  const std::shared_ptr<test::FaultyBackend> faults_ =
      std::make_shared<test::FaultyBackend>(make_memory_backend(store_), std::uint64_t{1});
  const std::shared_ptr<Moments> moments_ = std::make_shared<Moments>(faults_);
  const std::shared_ptr<test::EventCounts> told_ = std::make_shared<test::EventCounts>();
};

TEST_F(ManagerConvert, ALostReplyIsLookedUp) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    faults_->script(Call::try_acquire, Fault::lose_reply);
    std::optional<Hold> next = convert(hold, up).value();
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->valid());
    EXPECT_FALSE(hold.valid());
    EXPECT_FALSE(hold.lost().stop_requested());
    ASSERT_EQ(stored().size(), 1U);
    EXPECT_EQ(stored()[0].stamp, next->stamp());
    EXPECT_TRUE(next->release());
  }
}

// The second attempt has ended the hold that the first one was to replace.
TEST_F(ManagerConvert, ALateAttemptFindsNothing) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_EQ(faults_->deliver_late(), 1U);
  ASSERT_EQ(stored().size(), 1U);
  EXPECT_EQ(stored()[0].stamp, writer->stamp());
}

// It came after it was looked up and before the second one, which then finds the hold gone.
TEST_F(ManagerConvert, AnOwnEarlierAttemptIsFoundBehindGone) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    faults_->script(Call::try_acquire, Fault::delay);
    faults_->deliver_by_itself(true);
    std::optional<Hold> next = convert(hold, up).value();
    ASSERT_TRUE(next);
    EXPECT_TRUE(next->valid());
    EXPECT_FALSE(hold.lost().stop_requested());
    ASSERT_EQ(stored().size(), 1U);
    EXPECT_EQ(stored()[0].stamp, next->stamp());
    EXPECT_TRUE(next->release());
  }
}

// Both answers are lost, and the store does not say: the read is valid until it is found that the
// upgrade was granted. Then it is lost first, and what took its place is given back after that.
TEST_F(ManagerConvert, AnUpgradeOfUnknownOutcomeIsTidiedUp) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  faults_->script(Call::try_acquire, Fault::lose_reply);
  faults_->set_rates(Call::resolve, {.fail_before = 1});
  const auto upgraded = hold.try_upgrade();
  ASSERT_FALSE(upgraded.ok());
  EXPECT_EQ(upgraded.error().code, Errc::indeterminate) << upgraded.error().message;
  EXPECT_THAT(upgraded.error().message, HasSubstr(std::to_string(hold.stamp().value)));
  EXPECT_TRUE(hold.valid());
  ASSERT_EQ(stored().size(), 1U);
  EXPECT_EQ(stored()[0].items.at(0), write("a"));

  std::atomic<bool> told = false;
  const std::stop_callback on_lost(hold.lost(), [&] { told = true; });
  faults_->set_rates(Call::resolve, {});
  EXPECT_TRUE(eventually([&] { return stored().empty(); }));
  EXPECT_FALSE(hold.valid()) << "before anybody else may write";
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
  EXPECT_TRUE(eventually([&] { return told.load(); }));
}

// It arrives when nobody waits for it any more.
TEST_F(ManagerConvert, AContendedUpgradeMayStillComeLate) {
  share();
  Locks locks = mine();
  Locks others = other();
  Hold hold = locks.acquire({read("a")}).value();
  Hold reader = others.acquire({read("a")}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  EXPECT_FALSE(hold.try_upgrade().value());
  EXPECT_TRUE(hold.valid());
  ASSERT_TRUE(reader.release());
  EXPECT_EQ(faults_->deliver_late(), 1U);
  EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
  EXPECT_TRUE(eventually([&] { return stored().empty(); }));
}

// SEM 30: others may read by now
TEST_F(ManagerConvert, ADowngradeOfUnknownOutcomeIsLost) {
  Locks locks = mine();
  for (const Fault fault : {Fault::lose_reply, Fault::delay}) {
    Hold hold = locks.acquire({write("a")}).value();
    faults_->script(Call::try_acquire, fault);
    faults_->set_rates(Call::resolve, {.fail_before = 1});
    const auto downgraded = hold.downgrade();
    ASSERT_FALSE(downgraded.ok());
    EXPECT_EQ(downgraded.error().code, Errc::indeterminate) << downgraded.error().message;
    EXPECT_FALSE(hold.valid());
    EXPECT_EQ(hold.lost_reason(), LostReason::in_doubt);
    EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
    faults_->set_rates(Call::resolve, {});
    EXPECT_TRUE(eventually([&] { return stored().empty(); })) << "given back, as write or as read";
    faults_->deliver_late();
    EXPECT_TRUE(stored().empty());
  }
}

// SEM 11, 30: no lease would ever end it
TEST_F(ManagerConvert, APermanentHoldInDoubtEndsWithItsLocks) {
  auto locks = std::make_unique<Locks>(mine());
  Hold hold = locks->acquire({write("a")}, {.lease = no_lease}).value();
  faults_->script(Call::try_acquire, Fault::lose_reply);
  faults_->set_rates(Call::resolve, {.fail_before = 1});
  faults_->set_rates(Call::release, {.fail_before = 1});
  ASSERT_FALSE(hold.downgrade().ok());
  EXPECT_EQ(hold.lost_reason(), LostReason::in_doubt);
  EXPECT_EQ(stored().size(), 1U);
  faults_->set_rates(Call::resolve, {});
  faults_->set_rates(Call::release, {});
  locks.reset();
  EXPECT_TRUE(stored().empty());
}

// SEM 29: the second one waits for the first one's answer
TEST_F(ManagerConvert, OneAtATime) {
  Locks locks = mine();
  const Stamp stamp = locks.try_locks({read("a")}).value();
  std::atomic<int> under_way = 0;
  std::atomic<bool> met = false;
  moments_->sending = [&](const AcquireRequest& request) {
    if (request.replaces == nullptr) return;
    ++under_way;
    // Time for the other one to come, too.
    if (eventually([&] { return under_way > 1; }, 300ms)) met = true;
  };
  moments_->answered = [&](Result<AcquireOutcome>&) { --under_way; };
  const auto upgrade = [&] { static_cast<void>(locks.try_upgrade_locks(stamp).ok()); };
  std::thread other(upgrade);
  upgrade();
  other.join();
  EXPECT_FALSE(met);
  EXPECT_EQ(stored().size(), 1U);
}

// SEM 30: contention does not say that the first attempt won't come any more
TEST_F(ManagerConvert, AContendedDowngradeInDoubtIsLost) {
  other().set_permits("a", Mode::write, 2).value();
  Locks locks = mine();
  Hold hold = locks.acquire({write("a")}).value();
  Locks others = other();
  Hold second = others.acquire({write("a")}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  const auto downgraded = hold.downgrade();
  ASSERT_FALSE(downgraded.ok());
  EXPECT_EQ(downgraded.error().code, Errc::indeterminate);
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(eventually([&] { return stored().size() == 1; }));
  EXPECT_EQ(stored()[0].stamp, second.stamp());
}

// Nothing was applied.
TEST_F(ManagerConvert, AfterUnavailableTheHoldStands) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    faults_->script(Call::try_acquire, Fault::fail_before);
    faults_->script(Call::try_acquire, Fault::fail_before);
    const auto converted = convert(hold, up);
    ASSERT_FALSE(converted.ok());
    EXPECT_EQ(converted.error().code, Errc::unavailable);
    EXPECT_TRUE(hold.valid());
    EXPECT_TRUE(hold.renew());
    EXPECT_FALSE(hold.lost().stop_requested());
    // The first failure alone is not even seen.
    faults_->script(Call::try_acquire, Fault::fail_before);
    EXPECT_TRUE(convert(hold, up).value());
  }
}

// SEM 20: no two incompatible holds are valid at a time, whenever the store does it
TEST_F(ManagerConvert, OnlyADowngradeSuspendsTheHold) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    int looks = 0;
    moments_->sending = [&](const AcquireRequest&) {
      ++looks;
      EXPECT_EQ(hold.valid(), up);
    };
    moments_->answered = [&](Result<AcquireOutcome>&) { EXPECT_EQ(hold.valid(), up); };
    EXPECT_TRUE(convert(hold, up).value());
    EXPECT_EQ(looks, 1);
    moments_->sending = nullptr;
    moments_->answered = nullptr;
    EXPECT_FALSE(hold.valid());
  }
}

// A renewal of the old stamp is denied before the answer is here; it was not lost.
TEST_F(ManagerConvert, ADenialMeanwhileIsNoLoss) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  moments_->answered = [&](Result<AcquireOutcome>&) { moments_->lost(hold.stamp()); };
  std::optional<Hold> writer = hold.try_upgrade().value();
  moments_->answered = nullptr;
  ASSERT_TRUE(writer);
  EXPECT_FALSE(hold.lost().stop_requested());
  EXPECT_EQ(hold.lost_reason(), LostReason::not_lost);
  EXPECT_TRUE(writer->valid());
}

// It had ended for another reason: the loss is told when the call is over.
TEST_F(ManagerConvert, ADenialMeanwhileCountsIfItWasNotConverted) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    moments_->answered = [&](Result<AcquireOutcome>& outcome) {
      ASSERT_TRUE(other().break_hold(std::get<Grant>(*outcome).stamp));
      outcome = AcquireOutcome(Busy{"a", Mode::read, Stamp{1}, "somebody", {}, {}});
      moments_->lost(hold.stamp());
    };
    EXPECT_FALSE(convert(hold, up).value());
    moments_->answered = nullptr;
    EXPECT_FALSE(hold.valid());
    EXPECT_EQ(hold.lost_reason(), LostReason::gone);
    EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  }
}

TEST_F(ManagerConvert, AHoldThatIsGoneIsLost) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    ASSERT_TRUE(other().break_hold(hold.stamp()));
    EXPECT_EQ(convert(hold, up).error().code, Errc::not_held);
    EXPECT_FALSE(hold.valid());
    EXPECT_EQ(hold.lost_reason(), LostReason::gone);
    EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
  }
}

// SEM 8: the grant is given back, and it had ended the hold
TEST_F(ManagerConvert, AnOldStampLosesTheHold) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  moments_->answered = [&](Result<AcquireOutcome>& outcome) {
    std::get<Grant>(*outcome).stamp = Stamp{1};
  };
  EXPECT_EQ(hold.try_upgrade().error().code, Errc::rolled_back);
  moments_->answered = nullptr;
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
}

// SEM 10: the answer took longer than the lease
TEST_F(ManagerConvert, AGrantThatIsUselessLosesTheHold) {
  Locks locks = mine();
  for (const bool up : {true, false}) {
    Hold hold = locks.acquire({before(up)}).value();
    int answers = 0;
    moments_->answered = [&](Result<AcquireOutcome>& outcome) {
      Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
      if (++answers == 1) {
        ASSERT_NE(grant, nullptr);
        grant->lease = Duration(1);
      }
    };
    EXPECT_FALSE(convert(hold, up).ok());
    moments_->answered = nullptr;
    EXPECT_FALSE(hold.valid());
    EXPECT_EQ(hold.lost_reason(), LostReason::gone);
    EXPECT_TRUE(eventually([&] { return stored().empty(); }));
  }
}

// Whatever a conversion was granted and can't be used is given back; but others may take its names
// from then on, so before that the hold whose place it took is lost.
TEST_F(ManagerConvert, WhatWasConvertedIsLostBeforeItIsGivenBack) {
  Locks locks = mine();
  struct Useless {
    const char* why;
    std::function<void(Grant&)> make;
  };
  const Useless kinds[] = {{"too late", [](Grant& grant) { grant.lease = Duration(1); }},
                           {"an old stamp", [](Grant& grant) { grant.stamp = Stamp{1}; }}};
  for (const Useless& each : kinds) {
    SCOPED_TRACE(each.why);
    Hold hold = locks.acquire({read("a")}).value();
    int given_back = 0;
    moments_->answered = [&](Result<AcquireOutcome>& outcome) {
      if (Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) each.make(*grant);
    };
    moments_->releasing = [&] {
      ++given_back;
      EXPECT_FALSE(hold.valid());
    };
    EXPECT_FALSE(hold.try_upgrade().ok());
    moments_->answered = nullptr;
    moments_->releasing = nullptr;
    EXPECT_EQ(given_back, 1);
    EXPECT_EQ(hold.lost_reason(), LostReason::gone);
    EXPECT_TRUE(eventually([&] { return hold.lost().stop_requested(); }));
    for (const HoldInfo& left : stored()) ASSERT_TRUE(other().break_hold(left.stamp));
  }
}

// An upgrade is in doubt, and is found while the next one is under way.
TEST_F(ManagerConvert, AnEarlierUpgradeIsGivenBackAfterItsHoldIsLost) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  faults_->script(Call::try_acquire, Fault::lose_reply);
  faults_->set_rates(Call::resolve, {.fail_before = 1});
  ASSERT_EQ(hold.try_upgrade().error().code, Errc::indeterminate);
  ASSERT_TRUE(hold.valid());
  std::atomic<int> given_back = 0;
  moments_->releasing = [&] {
    ++given_back;
    EXPECT_FALSE(hold.valid());
  };
  moments_->sending = [&](const AcquireRequest&) {
    faults_->set_rates(Call::resolve, {});
    EXPECT_TRUE(eventually([&] { return stored().empty(); }));
  };
  EXPECT_EQ(hold.try_upgrade().error().code, Errc::not_held);
  moments_->sending = nullptr;
  EXPECT_EQ(given_back, 1);
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
}

// The Locks may go first. Its close() came before the new hold was known.
TEST_F(ManagerConvert, DestroyedMeanwhileNothingIsLeft) {
  std::optional<Locks> locks = mine();
  Hold hold = locks->acquire({read("a")}).value();
  moments_->answered = [&](Result<AcquireOutcome>&) { locks.reset(); };
  const auto upgraded = hold.try_upgrade();
  moments_->answered = nullptr;
  ASSERT_FALSE(upgraded.ok());
  EXPECT_EQ(upgraded.error().code, Errc::invalid) << upgraded.error().message;
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(stored().empty());
}

// SEM 10: a hold that is older than the space's longest lease is renewed, and may be converted
TEST_F(ManagerConvert, ALoweredLongestLeaseIsNoObstacle) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}, {.lease = 1min}).value();
  ASSERT_TRUE(other().set_max_lease(5s));
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_GT(writer->lease(), 30s) << "what was left";
}

// SEM 11
TEST_F(ManagerConvert, WithoutALeaseItStaysSo) {
  Locks locks = mine({.lease = no_lease});
  Hold hold = locks.acquire({read("a")}).value();
  const std::size_t renewals = faults_->calls(Call::renew);
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_EQ(writer->lease(), no_lease);
  EXPECT_EQ(writer->valid_until(), TimePoint::max());
  EXPECT_FALSE(stored().at(0).remaining);
  EXPECT_EQ(faults_->calls(Call::renew), renewals) << "at no moment it had an end";
}

TEST_F(ManagerConvert, TheObserverIsToldOfBothHolds) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a")}).value();
  ASSERT_TRUE(hold.try_upgrade().value());
  EXPECT_EQ(told_->granted, 2);
  EXPECT_TRUE(eventually([&] { return told_->released == 2; })) << "the temporary one, too";
  EXPECT_EQ(told_->lost, 0);
}

// The owner of the hold, with its label and instance; nothing else of the request is new.
TEST_F(ManagerConvert, ItAsksInTheNameOfTheHold) {
  Locks locks = mine();
  Hold hold = locks.acquire({read("a"), write("b")}, {.lease = 1min, .label = "import"}).value();
  int attempts = 0;
  moments_->sending = [&](const AcquireRequest& request) {
    ++attempts;
    ASSERT_NE(request.replaces, nullptr);
    EXPECT_EQ(request.replaces->stamp, hold.stamp());
    EXPECT_TRUE(request.replaces->known());
    EXPECT_EQ(request.owner->label, "import");
    EXPECT_EQ(request.lease, 1min);
    EXPECT_FALSE(request.will_wait);
    EXPECT_TRUE(request.unchanged_since.empty());
    EXPECT_EQ(request.ticket, nullptr);
    EXPECT_EQ(request.set->items().size(), 2U);
  };
  EXPECT_TRUE(hold.try_upgrade().value());
  moments_->sending = nullptr;
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace lockset
