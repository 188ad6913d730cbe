// Mistakes that show only at the API: clients that deceive themselves, waits that go wrong.
#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/mutants/flaws.h"
#include "tests/mutants/load.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/recording_backend.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;
using test::Recorder;

std::size_t found(const history::Report& report, Invariant invariant, const std::string& part) {
  std::size_t all = 0;
  for (const history::Violation& each : report.violations) {
    EXPECT_EQ(each.invariant, invariant) << each.story;
    all += each.story.find(part) != std::string::npos ? 1 : 0;
  }
  return all;
}

// How late the sound ones may be on a busy machine; the others are later.
constexpr Duration allowed = 2s;

// --- I5: a hold that is not renewed, as three clients record it ---

class Api : public testing::Test {
 protected:
  Api() {
    rules_.lost_delay = allowed;
    rules_.reply = allowed;
    rules_.idle = allowed;
  }
  [[nodiscard]] history::Report check(const history::History& history) const {
    return history::check(history, rules_).value();
  }
  history::Rules rules_;
};

// Follows a hold until after its end; `valid` is what this client believes.
history::Log follow(bool (*valid)(const Hold&), bool listens) {
  auto store = std::make_shared<test::FaultyBackend>(make_memory_backend(make_memory_store()), 1);
  store->set_rates(test::Call::renew, {.fail_before = 1});
  auto recorder = std::make_shared<Recorder>("client");
  Locks locks = open(std::make_unique<test::RecordingBackend>(
                         store, recorder, test::RecordingBackend::Level::beneath_api),
                     {.lease = 1s})
                    .value();
  const LockRequest wanted[] = {write("a")};
  const std::uint64_t op = recorder->ask(wanted, 1s, 0s);
  const Hold hold = locks.acquire({write("a")}).value();
  recorder->record(history::Granted{op, hold.stamp(), hold.valid_until(), {}});
  const std::stop_callback told(hold.lost(), [&] {
    if (listens) recorder->record(history::Lost{hold.stamp()});
  });
  const TimePoint end = hold.valid_until() + allowed + 500ms;
  while (BootClock::now() < end) {
    const TimePoint asked = recorder->now();
    recorder->record(history::Valid{hold.stamp(), asked, valid(hold)});
    std::this_thread::sleep_for(10ms);
  }
  return recorder->log();
}

bool honest(const Hold& hold) { return hold.valid(); }
// Until the store says that it is gone, which an unreachable store never does.
bool careless(const Hold&) { return true; }

TEST_F(Api, OfThreeClientsTheHonestOnePasses) {
  history::Log logs[3];
  test::run_threads(3,
                    [&](std::size_t i) { logs[i] = follow(i == 1 ? careless : honest, i != 2); });

  const history::Report report = check({logs[0]});
  for (const auto& each : report.violations) ADD_FAILURE() << each.story;
  EXPECT_EQ(report.counts.lost, 1U);

  EXPECT_GT(found(check({logs[1]}), Invariant::lease, "promised only until"), 0U)
      << "valid() after the end";
  EXPECT_EQ(found(check({logs[2]}), Invariant::lease, "was not told"), 1U)
      << "a loss that nobody is told of";
}

// --- I7: a waiter, while the other one releases the name at once or keeps it ---

history::History wait_for_it(std::shared_ptr<Backend> (*make)(std::shared_ptr<Backend>),
                             Duration wait, bool given_back) {
  const std::shared_ptr<MemoryStore> store = make_memory_store();
  const auto backend = [&] {
    std::shared_ptr<Backend> made = make_memory_backend(store);
    return std::make_shared<test::FaultyBackend>(make == nullptr ? made : make(made), 1);
  };
  const std::shared_ptr<test::FaultyBackend> counted = backend();
  Recorder first("first");
  Recorder second("second");
  const LockRequest wanted[] = {write("a")};
  const auto take = [&](Locks& locks, Recorder& recorder, Duration patience) {
    const std::uint64_t op = recorder.ask(wanted, 30s, patience);
    Result<Hold> hold = locks.acquire({write("a")}, {.wait = patience});
    if (hold) {
      recorder.record(history::Granted{op, hold->stamp(), hold->valid_until(), {}});
    } else {
      EXPECT_EQ(hold.error().code, Errc::timeout) << hold.error().message;
      recorder.record(history::TimedOut{op});
    }
    return hold;
  };
  Locks holder = open(std::make_unique<ForwardingBackend>(backend())).value();
  Locks waiter = open(std::make_unique<ForwardingBackend>(counted)).value();
  Hold held = take(holder, first, 1s).value();
  std::jthread thread([&] {
    const Result<Hold> hold = take(waiter, second, wait);
    if (hold) second.record(history::Release{hold->stamp()});
  });
  EXPECT_TRUE(test::eventually([&] { return counted->calls(test::Call::await_change) > 0; }));
  if (given_back) {
    first.record(history::Release{held.stamp()});
    EXPECT_TRUE(held.release());
    first.record(history::Released{held.stamp()});
  }
  thread.join();
  return {first.log(), second.log()};
}

TEST_F(Api, AWaiterThatIsNeverWokenIsFlagged) {
  EXPECT_EQ(found(check(wait_for_it(waiter_sleeps_on, 10s, true)), Invariant::liveness,
                  "waited for what was free"),
            1U);
}

TEST_F(Api, AWaitThatDoesNotEndIsFlagged) {
  EXPECT_EQ(found(check(wait_for_it(waiter_sleeps_on, 200ms, false)), Invariant::liveness,
                  "did not return"),
            1U);
}

TEST_F(Api, AndOfTheSoundStoreBothPass) {
  EXPECT_EQ(found(check(wait_for_it(nullptr, 10s, true)), Invariant::liveness, ""), 0U);
  EXPECT_EQ(found(check(wait_for_it(nullptr, 200ms, false)), Invariant::liveness, ""), 0U);
}

}  // namespace
}  // namespace lockset::mutants
