// Locks over one store alone while a migration to or from it is under way: ADR 0035.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "core/migration_mark.h"
#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using Step = MigrationMark::Step;
using ::testing::HasSubstr;

constexpr std::uint32_t migration = 1234;

// The error code of a call; nothing if it succeeded.
template <class T>
std::optional<Errc> failure_of(const Result<T>& result) {
  if (result) return {};
  return result.error().code;
}

// Counts the manager's calls to the store.
class Counting final : public ForwardingBackend {
 public:
  struct Counts {
    std::atomic<int> acquires{0};
    std::atomic<int> stale{0};
    std::atomic<int> busy{0};
    std::atomic<int> loads{0};
  };
  Counting(std::shared_ptr<Backend> inner, std::shared_ptr<Counts> counts)
      : ForwardingBackend(std::move(inner)), counts_(std::move(counts)) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    ++counts_->acquires;
    Result<AcquireOutcome> outcome = ForwardingBackend::try_acquire(request);
    if (outcome && std::holds_alternative<Stale>(*outcome)) ++counts_->stale;
    if (outcome && std::holds_alternative<Busy>(*outcome)) ++counts_->busy;
    return outcome;
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    Result<SpaceConfig> config = ForwardingBackend::load_config(by);
    ++counts_->loads;
    return config;
  }

 private:
  std::shared_ptr<Counts> counts_;
};

class ManagerMigration : public ::testing::Test {
 protected:
  // Its cache is not refreshed during a test.
  Locks open_locks() {
    return open(std::make_unique<Counting>(make_memory_backend(store_), counts_),
                {.app = "app", .refresh_config = 1h})
        .value();
  }
  void mark(Step step) {
    const SetMigrationPhase change{MigrationMark{step, migration}.encode()};
    make_memory_backend(store_)->change_config(change, BootClock::now() + 5s).value();
  }
  Stamp stored() {
    return make_memory_backend(store_)
        ->inspect({}, BootClock::now() + 5s)
        .value()
        .holds.at(0)
        .stamp;
  }
  std::size_t holds() {
    return make_memory_backend(store_)->inspect({}, BootClock::now() + 5s).value().holds.size();
  }
  static Step cached(const Locks& locks) {
    return MigrationMark::decode(locks.config()->migration_phase).value().step;
  }
  static bool comes_to(const std::atomic<int>& count, int least) {
    return test::eventually([&] { return count >= least; });
  }

  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  std::shared_ptr<Counting::Counts> counts_ = std::make_shared<Counting::Counts>();
};

TEST_F(ManagerMigration, OneStoreAloneServesWhereOthersTakeTheirLocksThere) {
  for (const Step step : {Step::shadow, Step::dual_old, Step::open, Step::done}) {
    mark(step);
    Locks locks = open_locks();
    const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 0s});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->valid());
  }
  EXPECT_EQ(counts_->loads, 4) << "one for each client at its opening: a mark that allows it costs "
                                  "no round trip";
}

TEST_F(ManagerMigration, OneStoreAloneIsRefusedWhereOthersTakeTheirLocksElsewhere) {
  for (const Step step : {Step::dual_new, Step::closed, Step::prepared}) {
    SCOPED_TRACE(static_cast<int>(step));
    mark(step);
    Locks locks = open_locks();
    const int before = counts_->acquires;
    const test::Stopwatch watch;
    const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
    ASSERT_FALSE(hold);
    EXPECT_EQ(hold.error().code, Errc::misconfigured);
    EXPECT_THAT(hold.error().message, HasSubstr(step == Step::closed ? "moved" : "migrate.from"));
    EXPECT_EQ(failure_of(locks.try_locks({write("a")})), Errc::misconfigured);
    EXPECT_LT(watch.elapsed(), 3s) << "nothing to wait for";
    EXPECT_EQ(counts_->acquires, before) << "the store was asked";
    EXPECT_EQ(holds(), 0U);
  }
}

// SEM 29, 30
TEST_F(ManagerMigration, OneStoreAloneConvertsWhereItMayTakeLocks) {
  mark(Step::dual_old);
  Locks locks = open_locks();
  Hold hold = locks.acquire({read("a")}).value();
  std::optional<Hold> writer = hold.try_upgrade().value();
  ASSERT_TRUE(writer);
  for (const Step step : {Step::dual_new, Step::closed}) {
    SCOPED_TRACE(static_cast<int>(step));
    mark(step);
    const auto downgraded = writer->downgrade();
    ASSERT_FALSE(downgraded.ok());
    EXPECT_EQ(downgraded.error().code, Errc::misconfigured) << downgraded.error().message;
    EXPECT_TRUE(writer->valid()) << "it stands as it was";
    EXPECT_EQ(stored(), writer->stamp());
  }
}

// SEM 7: by the version, which the store compares
TEST_F(ManagerMigration, AClientThatReadAnOldMarkIsRefusedAllTheSame) {
  for (const Step step : {Step::dual_new, Step::closed, Step::prepared}) {
    SCOPED_TRACE(static_cast<int>(step));
    mark(Step::shadow);
    Locks locks = open_locks();
    const int stale = counts_->stale;
    mark(step);
    ASSERT_EQ(cached(locks), Step::shadow);
    const Result<Hold> hold = locks.acquire({write("a")});
    ASSERT_FALSE(hold);
    EXPECT_EQ(hold.error().code, Errc::misconfigured);
    EXPECT_EQ(counts_->stale, stale + 1) << "only the store could tell it";
    EXPECT_EQ(cached(locks), step);
    EXPECT_EQ(holds(), 0U);
  }
}

TEST_F(ManagerMigration, AClientIsServedAsSoonAsTheMarkGoesBack) {
  for (const Step step : {Step::dual_new, Step::prepared}) {
    SCOPED_TRACE(static_cast<int>(step));
    mark(step);
    Locks locks = open_locks();
    ASSERT_EQ(failure_of(locks.try_locks({write("a")})), Errc::misconfigured);
    mark(step == Step::prepared ? Step::open : Step::dual_old);
    ASSERT_EQ(cached(locks), step) << "it knows the old mark";
    const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 0s});
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->valid());
  }
}

TEST_F(ManagerMigration, AWaitOutlastsASwitch) {
  for (const Step step : {Step::to_new, Step::to_old}) {
    SCOPED_TRACE(static_cast<int>(step));
    mark(step);
    Locks locks = open_locks();
    const int acquires = counts_->acquires;
    const int loads = counts_->loads;
    std::atomic<bool> ended = false;
    Result<Hold> hold = Error{Errc::internal, "not asked yet"};
    {
      std::jthread waiter([&] {
        hold = locks.acquire({write("a")}, {.wait = 1min});
        ended = true;
      });
      // Refused the first time, after looking again at once, and after a pause.
      EXPECT_TRUE(comes_to(counts_->loads, loads + 3));
      EXPECT_FALSE(ended);
      EXPECT_EQ(counts_->acquires, acquires) << "the store was asked";
      mark(Step::dual_old);
    }
    ASSERT_TRUE(hold) << hold.error().message;
    EXPECT_TRUE(hold->valid());
    EXPECT_TRUE(hold->release());
  }
}

TEST_F(ManagerMigration, AWaitEndsWhereTheSwitchLeadsElsewhere) {
  mark(Step::to_new);
  Locks locks = open_locks();
  const int loads = counts_->loads;
  Result<Hold> hold = Error{Errc::internal, "not asked yet"};
  {
    std::jthread waiter([&] { hold = locks.acquire({write("a")}, {.wait = 10s}); });
    EXPECT_TRUE(comes_to(counts_->loads, loads + 3));
    mark(Step::dual_new);
  }
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::misconfigured);
  EXPECT_EQ(holds(), 0U);
}

TEST_F(ManagerMigration, ATryDuringASwitchIsUnavailable) {
  mark(Step::to_old);
  Locks locks = open_locks();
  const Result<Stamp> tried = locks.try_locks({write("a")});
  ASSERT_FALSE(tried);
  EXPECT_EQ(tried.error().code, Errc::unavailable) << "and not \"held by another\"";
  EXPECT_EQ(holds(), 0U);
}

// A client that waits for a hold to end learns about the mark before it gets a grant.
TEST_F(ManagerMigration, AWaiterInLineIsRefusedByANewMark) {
  mark(Step::dual_old);
  Locks holder = open_locks();
  Hold held = holder.acquire({write("a")}).value();
  Locks locks = open_locks();
  Result<Hold> hold = Error{Errc::internal, "not asked yet"};
  const TimePoint began = BootClock::now();
  {
    std::jthread waiter([&] { hold = locks.acquire({write("a")}, {.wait = 1min}); });
    EXPECT_TRUE(comes_to(counts_->busy, 1));
    mark(Step::dual_new);
  }
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::misconfigured);
  EXPECT_LT(BootClock::now() - began, 30s);
  EXPECT_TRUE(held.valid()) << "what was granted stays, until its end";
  EXPECT_TRUE(held.release());
}

}  // namespace
}  // namespace lockset
