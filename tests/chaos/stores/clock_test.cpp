// SEM 20: if a server's clock steps forward by more than the margin, holds end early and the step
// is reported; a step back is reported as well, and is harmless.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "lockset/lockset.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/requirement.h"
#include "tests/support/wait.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;
using test::eventually;

class StepWatch final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind == Event::Kind::clock_stepped) ++steps;
  }
  std::atomic<int> steps = 0;
};

class ServerClockTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!test::have_server(GetParam().substr(0, GetParam().find(':')))) return;
    store_ = Store::start(GetParam(), {.scenario = Scenario::clock_forward, .proxies = 1});
  }
  // Several steps at once: a small one is within the margin.
  void step(const std::string& name) {
    const auto fault = std::find_if(store_->faults().begin(), store_->faults().end(),
                                    [&](const Fault& each) { return each.name == name; });
    ASSERT_NE(fault, store_->faults().end());
    for (unsigned seed = 0; seed < 6; ++seed) {
      Dice dice(seed);
      fault->begin(dice);
    }
  }

  std::unique_ptr<Store> store_;
};

TEST_P(ServerClockTest, StepsAreReported) {
  const auto watch = std::make_shared<StepWatch>();
  Options options;
  options.lease = store_->lease();
  options.observer = watch;
  auto locks = open(store_->worker_url(0), options).value();
  Hold hold = locks.acquire({{"name", Mode::write}}).value();

  step("clock-back");
  EXPECT_TRUE(eventually([&] { return watch->steps >= 1; }));
  EXPECT_TRUE(hold.valid());

  step("clock-forward");
  EXPECT_TRUE(eventually([&] { return watch->steps >= 2; }));
  if (GetParam().ends_with(":session")) {
    // Its holds live by their connections.
    (void)hold.release();
  } else {
    EXPECT_TRUE(eventually([&] { return !hold.valid(); }));
  }
  // The space works as before.
  EXPECT_GT(locks.acquire({{"name", Mode::write}}).value().stamp(), hold.stamp());
}

// The stores whose leases use a clock that can be set.
std::vector<std::string> with_clock() {
  std::vector<std::string> names;
  for (const std::string& name : Store::names()) {
    if (name != "sqlite" && name != "zookeeper") names.push_back(name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(, ServerClockTest, testing::ValuesIn(with_clock()), [](const auto& which) {
  std::string name = which.param;
  std::replace_if(
      name.begin(), name.end(), [](char each) { return each == ':' || each == '-'; }, '_');
  return name;
});

}  // namespace
}  // namespace lockset::chaos
