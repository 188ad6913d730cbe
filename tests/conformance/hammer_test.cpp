// SEM 4, 5, 8, 10, 20 by brute force: several processes, random sets, some killed.
#include <iostream>

#include "tests/conformance/hammer_run.h"
#include "tests/conformance/suite.h"
#include "tests/support/effort.h"
#include "tests/support/seed.h"

namespace lockset::conformance {
namespace {

class Hammer : public Conformance {};

TEST_P(Hammer, KilledProcessesBreakNoPromise) {
  if (skip_unless(traits().counted_permits, "counted permits")) return;
  if (skip_unless(!space().url().empty(), "other processes")) return;
  const std::uint64_t seed = test::test_seed();
  SCOPED_TRACE(test::describe_seed(seed));
  const HammerSize size =
      HammerSize::from_environment({.processes = 4, .names = 5, .time = 2500ms});
  HammerRun run(client(), space().url(), size, seed);
  // On a slow disk it continues until enough has happened for a check.
  const std::uintmax_t enough_logged = test::thorough() ? 60'000 : 42'000;
  const TimePoint began = BootClock::now();
  const auto lasted = [&](Duration time) { return BootClock::now() - began >= time; };
  while (!lasted(size.time) || (run.logged() < enough_logged && !lasted(60s))) run.kill_one();
  const Duration took = BootClock::now() - began;
  const Story story = run.finish();

  const std::size_t conflicts = check(story);
  EXPECT_GE(story.holds.size(), 200U) << "hardly any progress";
  EXPECT_GE(conflicts, size.names <= 10 ? 100U : 10U) << "hardly any conflicts";
  EXPECT_GE(run.kills(), 5U) << "hardly any kills";
  EXPECT_LT(story.longest_stall(), 10s) << "no progress for a while";

  // SEM 10: the holds of killed processes end with their leases, and nothing else is left.
  Client c = client();
  EXPECT_TRUE(eventually([&] { return c.holds().empty(); })) << "a hold that does not end";
  EXPECT_TRUE(eventually([&] { return backend()->sweep(soon()).value() == 0; }));
  const std::size_t left = space().look().size();
  EXPECT_EQ(left, 0U) << "something is left in the store";
  std::cout << "hammer on " << harness().name() << ": " << size.processes << " processes, "
            << size.names << " names, " << format_duration(took) << ": " << story.holds.size()
            << " grants, " << conflicts << " conflicts in the right order, " << run.kills()
            << " kills, " << story.timeouts << " timeouts, longest wait "
            << format_duration(story.longest_wait) << ", longest time without a grant "
            << format_duration(story.longest_stall()) << ", " << left << " holds left; seed "
            << seed << "\n";
}

LOCKSET_CONFORMANCE_SUITE(Hammer);

}  // namespace
}  // namespace lockset::conformance
