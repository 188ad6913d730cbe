// Locks over two stores, through the phases of a migration and back: the view of a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "lockset/lockset.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/manual_clock.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Phase = MigrationPhase;

class Steps final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::clock_stepped) ++stepped;
    if (event.kind == Event::Kind::busy) ++busy;
    if (event.kind == Event::Kind::renewed) ++renewed;
  }
  std::atomic<int> stepped = 0;
  std::atomic<int> busy = 0;
  std::atomic<int> renewed = 0;
};

// Locks own their backend; the test keeps the ways to the stores.
Locks open_locks(const Process& process, std::shared_ptr<Observer> observer = nullptr,
                 Duration lease = seconds(30)) {
  Options options;
  options.app = "app";
  options.lease = lease;
  options.refresh_config = milliseconds(20);
  options.observer = std::move(observer);
  return lockset::open(std::make_unique<ForwardingBackend>(process.backend), std::move(options))
      .value();
}

// Through all phases and back to dual_old, step by step.
template <class AfterEach>
void migrate(Pair& pair, AfterEach after_each) {
  const std::function<void()> steps[] = {
      [&] { pair.mark_new(Step::prepared); }, [&] { pair.mark_old(Step::shadow); },
      [&] { pair.mark_old(Step::dual_old); }, [&] { pair.dual_old_to_dual_new(); },
      [&] { pair.mark_new(Step::open); },     [&] { pair.mark_new(Step::prepared); },
      [&] { pair.dual_new_to_dual_old(); },   [&] { pair.dual_old_to_dual_new(); },
      [&] { pair.mark_new(Step::open); },     [&] { pair.mark_old(Step::closed); },
      [&] { pair.mark_new(Step::done); },
  };
  for (const auto& step : steps) {
    step();
    after_each();
  }
}

TEST(MigrateLocks, StoreTimeNeverJumpsThroughAWholeMigrationAndBack) {
  Pair pair;
  const auto steps = std::make_shared<Steps>();
  Locks locks = open_locks(pair.open(), steps);
  migrate(pair, [&] {
    const auto stamp = locks.acquire_locks({write("a")}, {.wait = patience});
    ASSERT_TRUE(stamp) << stamp.error().message;
    EXPECT_TRUE(locks.renew_locks(*stamp));
    EXPECT_TRUE(locks.release_locks(*stamp));
  });
  EXPECT_EQ(steps->stepped, 0);
}

TEST(MigrateLocks, StoreTimeDoesNotJumpForOneThatWasIdleWhileBothCounted) {
  for (const bool forward : {true, false}) {
    Pair pair;
    pair.go_to(forward ? Phase::shadow : Phase::new_only);
    const auto steps = std::make_shared<Steps>();
    Locks locks = open_locks(pair.open(), steps);
    ASSERT_TRUE(locks.release_locks(locks.try_locks({write("a")}).value()));
    if (forward) {
      pair.go_to(Phase::new_only);
    } else {
      pair.mark_new(Step::prepared);
      pair.dual_new_to_dual_old();
      pair.mark_old(Step::shadow);
    }
    for (int i = 0; i < 3; ++i) {
      // After the shadow, one of its trials may be in the way.
      const auto stamp = locks.acquire_locks({write("a")}, {.wait = patience});
      ASSERT_TRUE(stamp) << stamp.error().message;
      ASSERT_TRUE(locks.release_locks(*stamp));
    }
    EXPECT_EQ(steps->stepped, 0) << forward;
  }
}

// The steps have to raise the new store's stamps, because it may be that nobody takes anything
// while both count.
TEST(MigrateLocks, StampsDontGoBackForWhoWasIdleWhileBothCounted) {
  Pair pair;
  test::ManualClock clock;
  Migration migration(std::make_unique<ForwardingBackend>(pair.share_old()),
                      std::make_unique<ForwardingBackend>(pair.share_new()), clock);
  ASSERT_EQ(migration.start(clock.now() + patience).value(), Phase::shadow);
  Client client = Pair::client(pair.open());
  const Stamp stamp = client.take({write("a")}).stamp;
  ASSERT_TRUE(client.release(stamp));
  Phase phase = Phase::shadow;
  for (int i = 0; i < 20 && phase != Phase::new_only; ++i) {
    if (const auto next = migration.advance(clock.now() + milliseconds(1))) phase = *next;
    clock.advance(seconds(4));
  }
  ASSERT_EQ(phase, Phase::new_only);
  EXPECT_GT(client.take({write("b")}).stamp, stamp);
}

TEST(MigrateLocks, StepOfAStoresClockIsStillSeen) {
  for (const bool old_steps : {true, false}) {
    Pair pair;
    pair.go_to(old_steps ? Phase::shadow : Phase::new_only);
    const auto steps = std::make_shared<Steps>();
    Locks locks = open_locks(pair.open(), steps);
    ASSERT_TRUE(locks.release_locks(locks.try_locks({write("a")}).value()));
    (old_steps ? pair.old_clock : pair.new_clock).advance(std::chrono::minutes(1));
    ASSERT_TRUE(locks.release_locks(locks.try_locks({write("a")}).value()));
    EXPECT_EQ(steps->stepped, 1);
  }
}

TEST(MigrateLocks, HoldsSurviveTheNeighbouringPhases) {
  Pair pair;
  pair.go_to(Phase::shadow);
  const auto steps = std::make_shared<Steps>();
  Locks locks = open_locks(pair.open(), steps);
  const Stamp stamp = locks.try_locks({write("a")}).value();
  const auto still_held = [&] {
    EXPECT_TRUE(locks.valid(stamp));
    EXPECT_TRUE(locks.renew_locks(stamp));
    EXPECT_EQ(locks.try_locks({write("a")}).value(), Stamp{});
  };
  pair.mark_old(Step::dual_old);
  still_held();
  pair.dual_old_to_dual_new();
  still_held();
  pair.dual_new_to_dual_old();
  still_held();
  pair.mark_old(Step::shadow);
  still_held();
  EXPECT_TRUE(locks.release_locks(stamp));

  pair.mark_old(Step::dual_old);
  pair.dual_old_to_dual_new();
  const Stamp second = locks.try_locks({write("b")}).value();
  pair.mark_new(Step::open);
  EXPECT_TRUE(locks.renew_locks(second));
  EXPECT_EQ(locks.try_locks({write("b")}).value(), Stamp{});
  EXPECT_TRUE(locks.release_locks(second));
}

TEST(MigrateLocks, LostFiresWhenEitherPartIsBroken) {
  for (const Phase phase : {Phase::dual_old, Phase::dual_new}) {
    for (const bool old_part : {true, false}) {
      Pair pair;
      pair.go_to(phase);
      Locks locks = open_locks(pair.open());
      const Stamp stamp = locks.try_locks({write("a")}, {.lease = seconds(1)}).value();
      const std::stop_token lost = locks.lost(stamp);
      Backend& store = old_part ? pair.old_store() : pair.new_store();
      ASSERT_TRUE(
          store.break_hold((old_part ? pair.in_old() : pair.in_new()).at(0).stamp, soon()).value());
      EXPECT_TRUE(eventually([&] { return lost.stop_requested(); }));
      EXPECT_FALSE(locks.valid(stamp));
      // Others need not wait until the lease ends.
      EXPECT_TRUE(eventually([&] { return pair.in_old().empty() && pair.in_new().empty(); }));
    }
  }
}

TEST(MigrateLocks, WaiterIsGrantedAfterThePhaseHasChangedUnderIt) {
  struct Row {
    Phase from;
    std::function<void(Pair&)> change;
  };
  const Row rows[] = {
      {Phase::shadow, [](Pair& p) { p.mark_old(Step::dual_old); }},
      {Phase::dual_old, [](Pair& p) { p.dual_old_to_dual_new(); }},
      {Phase::dual_new, [](Pair& p) { p.mark_new(Step::open); }},
      {Phase::new_only, [](Pair& p) { p.mark_new(Step::prepared); }},
      {Phase::dual_new, [](Pair& p) { p.dual_new_to_dual_old(); }},
      {Phase::dual_old, [](Pair& p) { p.mark_old(Step::shadow); }},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(to_string(row.from));
    Pair pair;
    pair.go_to(row.from);
    const auto seen = std::make_shared<Steps>();
    Locks holder = open_locks(pair.open());
    Locks locks = open_locks(pair.open(), seen);
    const Stamp held = holder.try_locks({write("a")}).value();
    Result<Stamp> got = Stamp{};
    std::thread waiter([&] { got = locks.acquire_locks({write("a")}, {.wait = seconds(30)}); });
    const bool waits = eventually([&] { return seen->busy > 0; });
    row.change(pair);
    const bool released = holder.release_locks(held).ok();
    waiter.join();
    EXPECT_TRUE(waits && released);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_TRUE(locks.valid(*got));
    EXPECT_TRUE(locks.release_locks(*got));
    EXPECT_TRUE(pair.in_old().empty());
    // In shadow this happens in the background.
    EXPECT_TRUE(eventually([&] {
      const auto left = pair.in_new();
      return std::all_of(left.begin(), left.end(), [](const HoldInfo& hold) {
        return hold.items[0].name.starts_with("@shadow:");
      });
    }));
  }
}

TEST(MigrateLocks, NewerInstanceTakesOverInEveryPhase) {
  for (const Phase phase :
       {Phase::old_only, Phase::dual_old, Phase::dual_new, Phase::new_only, Phase::finished}) {
    SCOPED_TRACE(to_string(phase));
    Pair pair;
    pair.go_to(phase);
    Options options;
    options.app = "app";
    options.reclaim = true;
    const auto open_instance = [&](const Process& process) {
      return lockset::open(std::make_unique<ForwardingBackend>(process.backend), options);
    };
    const Process process = pair.open();
    Locks first = open_instance(process).value();
    const Stamp stamp = first.try_locks({write("a")}).value();
    ASSERT_NE(stamp, Stamp{});
    EXPECT_EQ(open_instance(pair.open()).error().code, Errc::app_in_use);
    // The first one hangs until its lease has ended.
    process.to_old->down = process.to_new->down = true;
    pair.old_clock.advance(std::chrono::minutes(20));
    pair.new_clock.advance(std::chrono::minutes(20));
    Locks second = open_instance(pair.open()).value();
    const Stamp again = second.try_locks({write("a")}).value();
    EXPECT_GT(again, stamp);
    process.to_old->down = process.to_new->down = false;
    const auto late = first.try_locks({write("b")});
    ASSERT_FALSE(late.ok());
    EXPECT_EQ(late.error().code, Errc::superseded);
  }
}

}  // namespace
}  // namespace lockset::test
