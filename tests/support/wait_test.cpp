// Tests the stopwatch that upper bounds on times use.
#include "tests/support/wait.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <ctime>
#include <optional>

#include "tests/support/forked.h"

namespace lockset::test {
namespace {

using namespace std::chrono_literals;

TEST(Stopwatch, CountsWhatPasses) {
  const Stopwatch watch;
  EXPECT_TRUE(eventually([&] { return watch.elapsed() >= 200ms; }));
  const Duration counted = watch.elapsed();
  EXPECT_LE(counted, BootClock::now() - watch.began());
}

// A thread that stalls for a second, as far as the stopwatch can see, was not slow.
TEST(Stopwatch, LeavesOutWhatAStandstillTook) {
  Signal runs;
  Signal stood;
  const pid_t child = start_child([&] {
    runs.only_sends();
    stood.only_hears();
    const Stopwatch watch;
    if (!eventually([&] { return watch.elapsed() >= 20ms; })) return 1;
    if (!runs.send() || !stood.heard()) return 2;
    const Duration passed = BootClock::now() - watch.began();
    if (passed < 1s) return 3;
    return passed - watch.elapsed() >= 900ms ? 0 : 4;
  });
  runs.only_hears();
  stood.only_sends();
  EXPECT_TRUE(runs.heard());
  EXPECT_EQ(::kill(child, SIGSTOP), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status));
  linger(1s);
  EXPECT_TRUE(stood.send());
  EXPECT_EQ(::kill(child, SIGCONT), 0);
  EXPECT_EQ(end_of(child), 0);
}

// Lingering takes almost no processor time.
TEST(Linger, Sleeps) {
  const TimePoint began = BootClock::now();
  const std::clock_t before = std::clock();
  linger(500ms);
  EXPECT_LT(std::clock() - before, CLOCKS_PER_SEC / 10);
  EXPECT_GE(BootClock::now() - began, 500ms);
}

}  // namespace
}  // namespace lockset::test
