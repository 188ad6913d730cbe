// The shadow: what it counts and reports, and that nobody has to wait for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>

#include "backends/migrate/hold_tag.h"
#include "tests/migration/backend/pair.h"
#include "tests/support/wait.h"

namespace lockset::test {
namespace {

using std::chrono::seconds;
using Phase = MigrationPhase;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

struct Report {
  unsigned long tried = 0, granted = 0, differences = 0, errors = 0, skipped = 0, median = 0,
                p99 = 0;
};

std::vector<HoldInfo> trials(Pair& pair) {
  std::vector<HoldInfo> result = pair.in_new();
  std::erase_if(result,
                [](const HoldInfo& hold) { return hold.items[0].name.starts_with("@shadow:"); });
  return result;
}

// Unset without a report, or with one that can't be read.
std::optional<Report> report(Pair& pair) {
  for (const HoldInfo& hold : pair.in_new()) {
    if (!hold.items[0].name.starts_with("@shadow:")) continue;
    Report r;
    int end = 0;
    const int fields = std::sscanf(
        hold.owner.label.c_str(),
        "tried=%lu granted=%lu differences=%lu errors=%lu skipped=%lu median_us=%lu p99_us=%lu%n",
        &r.tried, &r.granted, &r.differences, &r.errors, &r.skipped, &r.median, &r.p99, &end);
    if (fields == 7 && static_cast<std::size_t>(end) == hold.owner.label.size()) return r;
  }
  return {};
}

// Blocks every caller until it is opened or the caller's time is over.
class Gate {
 public:
  void pass(TimePoint by) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    while (!open_ && BootClock::now() < by) {
      changed_.wait_for(lock, std::min<Duration>(by - BootClock::now(), seconds(1)));
    }
    --waiting_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool somebody_waits() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return waiting_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

class MigrateShadow : public testing::Test {
 protected:
  MigrateShadow() { pair.go_to(Phase::shadow); }
  Pair pair;
};

TEST_F(MigrateShadow, HoldsAreTriedRenewedAndReleasedInTheNewStore) {
  Process process = pair.open();
  Client client = Pair::client(process);
  const Stamp stamp = client.take({write("a"), read("b")}, {.lease = seconds(20)}).stamp;
  ASSERT_TRUE(eventually([&] { return trials(pair).size() == 1; }));
  const HoldInfo trial = trials(pair)[0];
  EXPECT_EQ(trial.items, (Wanted{write("a"), read("b")}));
  EXPECT_EQ(migrate::tag_of(trial.owner.instance),
            (migrate::HoldTag{Phase::shadow, stamp, the_migration}));
  EXPECT_GE(trial.stamp, stamp);
  ASSERT_TRUE(client.renew(stamp, seconds(200)));
  EXPECT_TRUE(eventually([&] { return *trials(pair).at(0).remaining > seconds(100); }));
  // The trial is nobody's hold.
  EXPECT_THAT(client.holds(), SizeIs(1));
  ASSERT_TRUE(client.release(stamp));
  EXPECT_TRUE(eventually([&] { return trials(pair).empty(); }));
}

TEST_F(MigrateShadow, CountsWhatItTriedAndWritesItIntoTheNewStore) {
  Process process = pair.open();
  Client client = Pair::client(process);
  Client in_the_way(std::shared_ptr<Backend>(&pair.new_store(), [](Backend*) {}), "other");
  (void)in_the_way.take({write("taken")});
  (void)client.take({write("free")});
  ASSERT_TRUE(eventually([&] { return trials(pair).size() == 2; }));
  process.to_new->faults().script(Call::try_acquire, Fault::fail_before);
  (void)client.take({write("fails")});
  ASSERT_TRUE(
      eventually([&] { return process.to_new->faults().injected(Fault::fail_before) == 1; }));
  (void)client.take({write("taken")});
  // Its own ids are not tried.
  (void)client.take({write("@app:app")});
  std::optional<Report> said;
  ASSERT_TRUE(eventually(
      [&] {
        said = report(pair);
        return said && said->differences == 1;
      },
      3 * patience));
  EXPECT_EQ(said->tried, 3);
  EXPECT_EQ(said->granted, 1);
  EXPECT_EQ(said->errors, 1);
  EXPECT_EQ(said->skipped, 0);
  EXPECT_LE(said->median, said->p99);
  for (const HoldInfo& hold : pair.in_new()) {
    if (!hold.items[0].name.starts_with("@shadow:")) continue;
    EXPECT_EQ(hold.items[0].name, "@shadow:" + client.owner().instance);
    EXPECT_EQ(migrate::tag_of(hold.owner.instance),
              (migrate::HoldTag{Phase::shadow, {}, the_migration}));
  }
}

TEST_F(MigrateShadow, NewStoreThatHangsDelaysNobodyAndIsCounted) {
  Gate gate;
  Process process = pair.open();
  // Only from now on: opening has read the configuration.
  Client client = Pair::client(process);
  process.to_new->before(Call::load_config, [&] { gate.pass(TimePoint::max()); });
  const Stamp first = client.take({write("first")}).stamp;
  ASSERT_TRUE(gate.somebody_waits());
  // All of these succeed while the shadow is blocked.
  constexpr int many = 1024 + 10;
  std::vector<Stamp> stamps;
  for (int i = 0; i < many; ++i) {
    stamps.push_back(client.take({write("n" + std::to_string(i))}).stamp);
  }
  EXPECT_TRUE(client.renew(first, seconds(30)));
  for (const Stamp stamp : stamps) ASSERT_TRUE(client.release(stamp));
  EXPECT_THAT(pair.in_old(), SizeIs(1));
  EXPECT_THAT(trials(pair), IsEmpty());
  gate.open();
  std::optional<Report> said;
  ASSERT_TRUE(eventually(
      [&] {
        said = report(pair);
        return said && said->granted == 1024 + 1;
      },
      3 * patience));
  EXPECT_EQ(said->skipped, many - 1024);
  EXPECT_EQ(said->tried, 1024 + 1);
  EXPECT_EQ(said->errors, 0);
  // A hold that was released meanwhile is released here too.
  EXPECT_TRUE(eventually([&] { return trials(pair).size() == 1; }));
}

TEST_F(MigrateShadow, NewStoreThatIsDownIsNobodysTrouble) {
  Process process = pair.open();
  Client client = Pair::client(process);
  process.to_new->down = true;
  for (int i = 0; i < 20; ++i) {
    const Stamp stamp = client.take({write("a")}).stamp;
    EXPECT_TRUE(client.renew(stamp, seconds(30)));
    EXPECT_TRUE(client.release(stamp));
  }
}

TEST_F(MigrateShadow, GoodbyeToAStoreThatHangsIsNotRepeated) {
  Gate gate;  // never opened: each call takes all of its time
  std::atomic<bool> hangs = false;
  std::atomic<int> calls = 0;
  Process process = pair.try_open([&](Process& p) {
                          p.to_new->on_every_call = [&](TimePoint by) {
                            if (!hangs) return;
                            ++calls;
                            // No call of the shadow may take long.
                            EXPECT_LE(by, BootClock::now() + seconds(1));
                            gate.pass(by);
                          };
                        })
                        .value();
  {
    Client client = Pair::client(process);
    for (int i = 0; i < 50; ++i) (void)client.take({write("n" + std::to_string(i))});
  }
  ASSERT_TRUE(eventually([&] { return trials(pair).size() == 50; }));
  process.to_new->faults().set_rates({.fail_before = 1});
  hangs = true;
  process.backend.reset();
  EXPECT_LE(calls, 2);
}

TEST_F(MigrateShadow, GivesBackWhatItHoldsAndSaysHowItWasAtTheEnd) {
  Process process = pair.open();
  {
    Client client = Pair::client(process);
    for (int i = 0; i < 5; ++i) (void)client.take({write("n" + std::to_string(i))});
  }
  ASSERT_TRUE(eventually([&] { return trials(pair).size() == 5; }));
  process.backend.reset();
  EXPECT_THAT(trials(pair), IsEmpty());
  const std::optional<Report> said = report(pair);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->tried, 5);
  EXPECT_EQ(said->granted, 5);
}

TEST_F(MigrateShadow, NoLocksAreTakenInAStoreThatTheOldOneDoesNotMoveTo) {
  // A store that others use, for example because of a wrong address; it was down when this one was
  // opened.
  for (const Step step : {Step::none, Step::open, Step::done, Step::shadow}) {
    SCOPED_TRACE(static_cast<int>(step));
    Pair fresh;
    fresh.go_to(Phase::shadow);
    Process process = fresh.try_open([](Process& p) { p.to_new->down = true; }).value();
    fresh.mark_new(step);
    process.to_new->down = false;
    Client client = Pair::client(process);
    (void)client.take({write("a")});
    std::atomic<bool> looked = false;
    process.to_new->after(Call::load_config, [&] { looked = true; });
    (void)client.take({write("b")});
    ASSERT_TRUE(eventually([&] { return looked.load(); }));
    process.backend.reset();
    EXPECT_EQ(process.to_new->faults().calls(Call::try_acquire), 0);
  }
}

TEST_F(MigrateShadow, TrialsEndWhenTheNewStoreIsOpened) {
  Process process = pair.open();
  Client client = Pair::client(process);
  (void)client.take({write("a")});
  ASSERT_TRUE(eventually([&] { return trials(pair).size() == 1; }));
  pair.mark_new(Step::open);
  // The next one still knows the earlier configuration, and the store refuses it.
  (void)client.take({write("b")});
  (void)client.take({write("c")});
  ASSERT_TRUE(eventually([&] { return process.to_new->faults().calls(Call::load_config) >= 3; }));
  EXPECT_THAT(trials(pair), SizeIs(1));
}

}  // namespace
}  // namespace lockset::test
