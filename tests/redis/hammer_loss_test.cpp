// SEM 4, 8, 10, 20 by brute force, while the server loses its state again and again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lockset/lockset.h"
#include "tests/conformance/hammer_run.h"
#include "tests/redis/raw_client.h"
#include "tests/support/client.h"
#include "tests/support/private_server.h"
#include "tests/support/requirement.h"
#include "tests/support/seed.h"
#include "tests/support/wait.h"

namespace lockset::redis_tests {
namespace {

using namespace std::chrono_literals;
using conformance::HammerRun;
using conformance::HammerSize;
using conformance::Story;
using test::Client;
using test::eventually;
using test::soon;

enum class Loss : std::uint8_t { flushall, restart };

// The longest lease, and so the quarantine. The hammer's processes use leases of a second.
constexpr Duration longest_lease = 2s;

class RedisHammer : public testing::TestWithParam<Loss> {
 protected:
  void SetUp() override {
    if (!test::have_server("redis")) return;
    // It keeps nothing across a restart.
    server_ =
        std::make_unique<test::PrivateServer>("redis", std::vector<std::string>{"appendonly no"});
    init_space(server_->admin_url(), soon()).value();
    client_.emplace(open_backend(server_->admin_url(), soon()).value(), "looker");
    client_->change(SetMaxLease{longest_lease});
  }

  // How long the server was away.
  Duration lose_all() {
    const TimePoint began = BootClock::now();
    losses_.push_back(began.time_since_epoch().count());
    if (GetParam() == Loss::flushall) {
      test::RawRedis(server_->admin_url()).say({"FLUSHALL"});
      return Duration();
    }
    server_->kill();
    server_->start();
    return BootClock::now() - began;
  }
  // Includes its own longest wait, until the store may grant again.
  void wait_out() {
    ASSERT_TRUE(eventually([&] {
      const Result<Inspection> seen = client_->backend().inspect({}, soon());
      return seen && !seen->quarantine;
    }));
  }
  // How many grants there were between this loss and the next.
  [[nodiscard]] std::size_t grants_after(const Story& story, std::size_t loss) const {
    const std::int64_t from = losses_[loss] + Duration(longest_lease).count();
    const std::int64_t until = loss + 1 < losses_.size() ? losses_[loss + 1] : INT64_MAX;
    return static_cast<std::size_t>(std::count_if(
        story.holds.begin(), story.holds.end(),
        [&](const auto& one) { return one.second.begin > from && one.second.begin < until; }));
  }
  std::unique_ptr<test::PrivateServer> server_;
  std::optional<Client> client_;
  std::vector<std::int64_t> losses_;  // times of BootClock, in nanoseconds
};

TEST_P(RedisHammer, NoTwoHoldTheSameOverALossOfState) {
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  const HammerSize size = HammerSize::from_environment({.processes = 6, .names = 30, .time = 8s});
  // A hold that lasts all the time.
  Options options;
  options.app = "keeper";
  options.lease = longest_lease;
  Locks locks = lockset::open(server_->admin_url(), options).value();
  Hold kept = locks.acquire({write("kept")}).value();
  std::size_t times_kept = 0;

  HammerRun run(*client_, server_->admin_url(), size, seed, true);
  const TimePoint began = BootClock::now();
  const auto lasted = [&](Duration time) { return BootClock::now() - began >= time; };
  while (losses_.size() < 3 || !lasted(size.time)) {
    for (int i = 0; i < 3; ++i) run.kill_one();
    const Duration away = lose_all();
    run.kill_one();  // in quarantine
    ASSERT_NO_FATAL_FAILURE(wait_out());
    if (kept.valid()) {
      EXPECT_EQ(client_->meet_busy({write("kept")}).holder, kept.stamp());
      ++times_kept;
    } else {
      // So long that nobody could renew in time.
      EXPECT_GT(away, longest_lease / 4) << "a hold was not registered again";
      AcquireOptions patiently;
      patiently.wait = test::patience;
      kept = locks.acquire({write("kept")}, patiently).value();
    }
    // The processes have learned that it is over; a busy machine takes a while.
    const std::uintmax_t before = run.logged();
    ASSERT_TRUE(eventually([&] { return run.logged() > before + 5'000; }));
  }
  const Duration took = BootClock::now() - began;
  const Story story = run.finish();
  ASSERT_TRUE(kept.release());

  const std::size_t conflicts = conformance::check(story);
  EXPECT_GE(conflicts, size.names <= 30 ? 50U : 10U) << "hardly any conflicts";
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    EXPECT_GE(grants_after(story, i), 1U) << "no grants after loss " << i;
  }
  EXPECT_TRUE(eventually([&] { return client_->holds().empty(); })) << "a hold that does not end";
  std::cout << "hammer with " << losses_.size() << " losses: " << size.processes << " processes, "
            << size.names << " names, " << format_duration(took) << ": " << story.holds.size()
            << " grants, " << conflicts << " conflicts in the right order, " << run.kills()
            << " kills, " << story.timeouts << " timeouts, " << story.troubles
            << " refused, one hold kept over " << times_kept
            << " losses, longest time without a grant " << format_duration(story.longest_stall())
            << "; seed " << seed << "\n";
}

std::string loss_name(const testing::TestParamInfo<Loss>& loss) {
  return loss.param == Loss::flushall ? "flushall" : "restart";
}

INSTANTIATE_TEST_SUITE_P(Each, RedisHammer, testing::Values(Loss::flushall, Loss::restart),
                         loss_name);

}  // namespace
}  // namespace lockset::redis_tests
