// Observing and conditional acquires of Locks, over a store that fails at a critical moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>

#include "core/keeper.h"
#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using test::Call;
using test::Fault;
using test::soon;
using ::testing::HasSubstr;

// Lets the test change what an attempt or an observation is answered.
class Answers final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  std::function<void(Result<AcquireOutcome>&)> attempted;
  std::function<void(Result<ObserveOutcome>&)> observed;
  std::atomic<int> sweeps = 0;
  std::atomic<Duration> swept_after{};

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (attempted) attempted(outcome);
    return outcome;
  }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    if (observed) observed(outcome);
    return outcome;
  }
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override {
    swept_after = unobserved;
    ++sweeps;
    return inner().sweep_traces(unobserved, by);
  }
};

class Told final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::changed) ++changed;
  }
  std::atomic<int> changed = 0;
};

class ManagerObserve : public testing::Test {
 protected:
  // Another client, past the faults.
  Locks other(const std::string& label = "sam@office") {
    return open(make_memory_backend(store_), {.app = "other", .label = label}).value();
  }
  Locks mine() {
    return open(std::make_unique<ForwardingBackend>(answers_),
                {.app = "app", .label = "me@home", .observer = told_})
        .value();
  }
  static Errc code_of(const Result<Hold>& result) {
    return result ? Errc::internal : result.error().code;
  }

  const std::shared_ptr<MemoryStore> store_ = make_memory_store();
  const std::shared_ptr<test::FaultyBackend> faults_ =
      std::make_shared<test::FaultyBackend>(make_memory_backend(store_), std::uint64_t{1});
  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>(faults_);
  const std::shared_ptr<Told> told_ = std::make_shared<Told>();
};

// The first failure is often a connection that died while idle.
TEST_F(ManagerObserve, AnObservationThatFailedIsRepeatedOnce) {
  Locks locks = mine();
  for (const Fault fault : {Fault::fail_before, Fault::lose_reply}) {
    faults_->script(Call::observe, fault);
    EXPECT_TRUE(locks.observe({"a"}));
  }
  EXPECT_EQ(faults_->calls(Call::observe), 4U);
  faults_->script(Call::observe, Fault::fail_before);
  faults_->script(Call::observe, Fault::fail_before);
  const Result<Observation> failed = locks.observe({"a"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::unavailable);
}

// Nothing that matters was applied.
TEST_F(ManagerObserve, ALostReplyIsUnavailable) {
  Locks locks = mine();
  answers_->observed = [](Result<ObserveOutcome>& outcome) {
    outcome = Error{Errc::indeterminate, "the reply was lost"};
  };
  EXPECT_EQ(locks.observe({"a"}).error().code, Errc::unavailable);
}

TEST_F(ManagerObserve, AnAnswerForOtherNamesIsAFault) {
  Locks locks = mine();
  answers_->observed = [](Result<ObserveOutcome>& outcome) {
    std::get<std::vector<Trace>>(*outcome).pop_back();
  };
  EXPECT_EQ(locks.observe({"a", "b"}).error().code, Errc::internal);
}

TEST_F(ManagerObserve, AConfigurationThatNeverRestsEndsIt) {
  Locks locks = mine();
  answers_->observed = [](Result<ObserveOutcome>& outcome) { outcome = ObserveOutcome(Stale{}); };
  EXPECT_EQ(locks.observe({"a"}).error().code, Errc::unavailable);
}

TEST_F(ManagerObserve, AMovedFromObservationIsRefused) {
  Locks locks = mine();
  Observation seen = locks.observe({"a"}).value();
  const Observation kept = std::move(seen);
  // NOLINTBEGIN(bugprone-use-after-move): that is the test
  EXPECT_EQ(locks.validate(seen).error().code, Errc::invalid);
  EXPECT_EQ(locks.changes_since(seen).error().code, Errc::invalid);
  EXPECT_EQ(code_of(locks.acquire({write("a")}, {.unchanged_since = seen})), Errc::invalid);
  // NOLINTEND(bugprone-use-after-move)
}

// SEM 27: what says enough is not asked for
TEST_F(ManagerObserve, WhatWasBeingWrittenAsksNobody) {
  Locks locks = mine();
  const Observation seen = Observation::make({{"a", Stamp{1}, true}, {"b", Stamp{1}}}).value();
  EXPECT_FALSE(locks.validate(seen).value());
  EXPECT_EQ(code_of(locks.acquire({write("a"), read("b")}, {.unchanged_since = seen})),
            Errc::changed);
  EXPECT_EQ(faults_->calls(Call::observe), 0U);
  EXPECT_EQ(faults_->calls(Call::try_acquire), 0U);
}

// SEM 8: what a client has seen in an observation it has seen
TEST_F(ManagerObserve, AGrantBelowAnObservedStampIsRolledBack) {
  Locks locks = mine();
  answers_->observed = [](Result<ObserveOutcome>& outcome) {
    std::get<std::vector<Trace>>(*outcome).at(0).last_write.value += 3'600'000'000;
  };
  locks.observe({"a"}).value();
  EXPECT_EQ(code_of(locks.acquire({write("b")}, {.wait = 0s})), Errc::rolled_back);
}

TEST_F(ManagerObserve, TheObserverIsToldOfARefusal) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a"}).value();
  ASSERT_TRUE(other().acquire({write("a")}));
  EXPECT_EQ(code_of(locks.acquire({write("a")}, {.unchanged_since = seen})), Errc::changed);
  EXPECT_EQ(told_->changed, 1);
}

// --- lost replies: SEM 14, 28 ---

TEST_F(ManagerObserve, AGrantWhoseReplyWasLostIsFound) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a"}).value();
  faults_->script(Call::try_acquire, Fault::lose_reply);
  EXPECT_TRUE(locks.acquire({write("a")}, {.unchanged_since = seen}).value().valid());
  EXPECT_EQ(faults_->calls(Call::try_acquire), 1U);
}

// The first request arrives after its outcome was asked for, and makes the change that the second
// one meets.
TEST_F(ManagerObserve, AGrantThatCameLateIsFoundBehindAChange) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a"}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  faults_->deliver_by_itself(true);
  const Result<Hold> hold = locks.acquire({write("a")}, {.unchanged_since = seen});
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_TRUE(hold->valid());
  EXPECT_EQ(faults_->calls(Call::try_acquire), 2U);
  EXPECT_EQ(make_memory_backend(store_)->inspect({}, soon()).value().holds.size(), 1U);
}

// It came late, and was broken before it was found: nobody knows whether this client made the
// change.
TEST_F(ManagerObserve, AnOwnGrantThatHasEndedIsIndeterminate) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a"}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  faults_->deliver_by_itself(true);
  answers_->attempted = [&](Result<AcquireOutcome>& outcome) {
    if (const Changed* changed = outcome ? std::get_if<Changed>(&*outcome) : nullptr) {
      EXPECT_TRUE(
          make_memory_backend(store_)->break_hold(changed->trace.last_write, soon()).value());
    }
  };
  EXPECT_EQ(code_of(locks.acquire({write("a")}, {.unchanged_since = seen})), Errc::indeterminate);
}

// The label says that it was somebody else.
TEST_F(ManagerObserve, AnothersWriteAfterALostReplyIsAChange) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a"}).value();
  ASSERT_TRUE(other().acquire({write("a")}));
  faults_->script(Call::try_acquire, Fault::lose_reply);
  const Result<Hold> hold = locks.acquire({write("a")}, {.unchanged_since = seen});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::changed) << hold.error().message;
  EXPECT_THAT(hold.error().message, HasSubstr("sam@office"));
}

// The store does not answer the question: then it is not known.
TEST_F(ManagerObserve, WithoutAnAnswerTheOutcomeIsUnknown) {
  Locks locks = open(std::make_unique<ForwardingBackend>(answers_),
                     {.app = "app", .store_patience = Duration::zero()})
                    .value();
  const Observation seen = locks.observe({"a"}).value();
  faults_->script(Call::try_acquire, Fault::delay);
  faults_->deliver_by_itself(true);
  faults_->script(Call::resolve, Fault::none);
  faults_->script(Call::resolve, Fault::fail_before);
  faults_->script(Call::resolve, Fault::fail_before);
  EXPECT_EQ(code_of(locks.acquire({write("a")}, {.unchanged_since = seen})), Errc::indeterminate);
}

// SEM 10, 28: the answer took longer than the lease. The grant is given back, and the next attempt
// does not meet it as a change.
TEST_F(ManagerObserve, AGrantThatIsUselessIsNoChange) {
  Locks locks = mine();
  const Observation seen = locks.observe({"a", "b"}).value();
  int answers = 0;
  answers_->attempted = [&](Result<AcquireOutcome>& outcome) {
    if (Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr; ++answers == 1) {
      ASSERT_NE(grant, nullptr);
      grant->lease = Duration(1);
    }
  };
  const Result<Hold> hold = locks.acquire({write("a"), read("b")}, {.unchanged_since = seen});
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_EQ(answers, 2);
}

// --- housekeeping ---

// SEM 27: a week, and what an observation did not write down
TEST_F(ManagerObserve, WhoHoldsSomethingSweepsTraces) {
  const Owner owner{"app", "instance", 0, "label"};
  ConfigCache config;
  Keeper::Settings settings;
  settings.io_timeout = 5s;
  settings.refresh_config = 5ms;
  settings.sweep_every = 5ms;
  settings.sweep_traces_every = 5ms;
  Keeper keeper(*answers_, owner, config, settings);
  ASSERT_TRUE(keeper.start());
  const TimePoint now = BootClock::now();
  const KnownHold known{LockSet::make({write("a")}).value(), owner, Token::random(), Stamp{1}};
  keeper.add(std::make_shared<HoldState>(HoldState::Made{known, {}, 1min, now, 1min, {}, {}}),
             {now, now, 0});
  EXPECT_TRUE(test::eventually([&] { return answers_->sweeps >= 2; }));
  EXPECT_EQ(answers_->swept_after.load(), trace_lifetime + trace_grain);
}

}  // namespace
}  // namespace lockset
