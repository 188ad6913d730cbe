// SEM 10, 18, 20 with real processes that are killed, stopped and continued.
#include <filesystem>
#include <fstream>

#include "tests/conformance/suite.h"
#include "tools/child.h"

namespace lockset::conformance {
namespace {

using tools::Child;

class CrossProcess : public Conformance {
 protected:
  [[nodiscard]] bool lacks_processes() {
    return skip_unless(!space().url().empty(), "other processes");
  }
  std::unique_ptr<Child> holder(const std::string& app, Duration lease) {
    auto child = std::make_unique<Child>(std::vector<std::string>{LOCKSET_HOLDER});
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(lease).count();
    EXPECT_EQ(child->ask("open " + space().url() + " " + app + " " + std::to_string(ms)), "ok");
    return child;
  }
  static Stamp granted(const std::string& answer) {
    if (answer.rfind("granted ", 0) != 0) throw std::runtime_error("not granted: " + answer);
    return {std::stoll(answer.substr(8))};
  }
};

// SEM 4: processes exclude each other as threads do
TEST_P(CrossProcess, ProcessesExcludeOneAnother) {
  if (lacks_processes()) return;
  const auto one = holder("one", 10s);
  const auto two = holder("two", 10s);
  const Stamp first = granted(one->ask("acquire 0 w:a r:b"));
  EXPECT_EQ(two->ask("acquire 0 w:b"), "error timeout");
  EXPECT_EQ(one->ask("release"), "released");
  EXPECT_GT(granted(two->ask("acquire 0 w:a w:b")), first);
  EXPECT_EQ(two->ask("valid"), "valid");
  EXPECT_EQ(one->ask("release"), "error not_held");
}

// SEM 13: a release in one process wakes a waiter in another
TEST_P(CrossProcess, AReleaseWakesAWaiterOfAnotherProcess) {
  if (lacks_processes()) return;
  const auto one = holder("one", 30s);
  const auto two = holder("two", 30s);
  (void)granted(one->ask("acquire 0 w:a"));
  two->send("await 60000 w:a");
  EXPECT_EQ(two->receive(), "busy");
  const TimePoint began = BootClock::now();
  EXPECT_EQ(one->ask("release"), "released");
  (void)granted(two->receive(1min));
  EXPECT_LT(BootClock::now() - began, 30s) << "not woken, but run into its deadline";
}

// SEM 10: after kill -9 of a holder the set is free at the end of the lease, not before
TEST_P(CrossProcess, AKilledHoldersSetIsFreeAtTheLeasesEnd) {
  if (lacks_processes()) return;
  if (skip_unless(traits().holds_outlive_process, "holds that outlive their process")) return;
  const auto victim = holder("victim", 1s);
  const TimePoint asked = BootClock::now();
  const Stamp stamp = granted(victim->ask("outlive 0 w:a w:b"));
  // The last renewal was some time before the kill: the lease counts from there, and at the
  // earliest from the acquire.
  victim->kill();
  const Stopwatch since_the_kill;
  Client c = client();
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] {
    return (next = c.try_take({write("b"), write("c")})).has_value();
  }));
  EXPECT_GE(BootClock::now(), asked + 1s - clock_grain);
  EXPECT_LT(since_the_kill.elapsed(), 1s + 3s);
  EXPECT_GT(next->stamp, stamp);
}

// SEM 10: "it may end that hold before its lease"
TEST_P(CrossProcess, AKilledHoldersSetIsFreeAtOnceIfTheStoreCanTell) {
  if (lacks_processes()) return;
  if (skip_unless(traits().ends_with_process, "holds that end with their process")) return;
  const auto victim = holder("victim", 10min);
  const Stamp stamp = granted(victim->ask("acquire 0 w:a w:b"));
  victim->kill();
  Client c = client();
  const std::optional<Grant> next = c.try_take({write("b"), write("c")});
  ASSERT_TRUE(next);
  EXPECT_GT(next->stamp, stamp);
}

// SEM 10, 29: an upgraded hold ends with its process if the one before it did
TEST_P(CrossProcess, AKilledUpgradersSetIsFreeAtOnceIfTheStoreCanTell) {
  if (lacks_processes()) return;
  if (skip_unless(traits().ends_with_process, "holds that end with their process")) return;
  if (skip_unless(traits().converting, "upgrades and downgrades")) return;
  Client c = client();
  for (const bool outlives : {false, true}) {
    const auto victim = holder(outlives ? "outlived" : "victim", 10min);
    (void)granted(victim->ask(outlives ? "outlive 0 r:a" : "acquire 0 r:a"));
    const Stamp stamp = granted(victim->ask("upgrade"));
    victim->kill();
    EXPECT_EQ(c.try_take({write("a")}).has_value(), !outlives);
    for (const HoldInfo& hold : c.holds()) EXPECT_TRUE(c.break_hold(hold.stamp));
    EXPECT_FALSE(c.is_live(stamp));
  }
}

// SEM 10: the same for a process that ends without releasing
TEST_P(CrossProcess, AnExitWithoutReleaseIsLikeAKill) {
  if (lacks_processes()) return;
  if (skip_unless(traits().holds_outlive_process, "holds that outlive their process")) return;
  const auto leaver = holder("leaver", 1s);
  const TimePoint asked = BootClock::now();
  (void)granted(leaver->ask("outlive 0 w:a"));
  leaver->send("leave");
  EXPECT_EQ(leaver->wait(), 0);
  Client c = client();
  ASSERT_TRUE(eventually([&] { return c.try_take({write("a")}).has_value(); }));
  EXPECT_GE(BootClock::now(), asked + 1s - clock_grain);
}

// exit() while a client lives: its threads continue while the process cleans up. They renew and
// open connections until the process has ended; or they find their store unavailable, with a client
// library that exit() cleans up.
TEST_P(CrossProcess, AClientThatIsNeverDestroyedWorksOnDuringExit) {
  if (lacks_processes()) return;
  const auto leaver = holder("leaver", 4s);
  const TimePoint asked = BootClock::now();
  const Stamp stamp = granted(leaver->ask("acquire 0 w:a"));
  EXPECT_EQ(leaver->ask("exit"), "exiting");
  const std::string again = "open " + space().url() + " other 4000";
  if (!harness().harness_traits().works_during_exit) {
    EXPECT_EQ(leaver->ask(again), "error unavailable");
    EXPECT_TRUE(eventually([&] { return leaver->ask("valid") == "invalid"; }));
    leaver->close_input();
    EXPECT_EQ(leaver->wait(), 0);
    return;
  }
  Client c = client();
  ASSERT_TRUE(eventually([&] { return BootClock::now() > asked + 4s; }));
  EXPECT_EQ(leaver->ask("valid"), "valid");
  EXPECT_TRUE(c.is_live(stamp));
  // Once more, from the first connection on.
  EXPECT_EQ(leaver->ask(again), "ok");
  EXPECT_GT(granted(leaver->ask("acquire 0 w:a w:b")), stamp);
  leaver->close_input();
  EXPECT_EQ(leaver->wait(), 0);
}

// A clean end releases
TEST_P(CrossProcess, ACleanEndReleases) {
  if (lacks_processes()) return;
  {
    const auto child = holder("app", 30s);
    (void)granted(child->ask("acquire 0 w:a"));
    // Destroying the object closes its stdin; the destructor kills only a child that has not ended.
    child->send("release");
    EXPECT_EQ(child->receive(), "released");
  }
  EXPECT_TRUE(space().look().empty());
}

// SEM 10, 20: SIGSTOP beyond the lease; another holder gets the set, with a greater stamp. After
// SIGCONT the first answer of valid() is false, and release answers not_held.
TEST_P(CrossProcess, AHolderThatStoodStillFindsOutFirst) {
  if (lacks_processes()) return;
  const auto sleeper = holder("sleeper", 4s);
  const Stamp stamp = granted(sleeper->ask("acquire 0 w:a"));
  EXPECT_EQ(sleeper->ask("valid"), "valid");
  sleeper->stop();
  Client c = client();
  std::optional<Grant> next;
  ASSERT_TRUE(eventually([&] { return (next = c.try_take({write("a")})).has_value(); }));
  EXPECT_GT(next->stamp, stamp);
  // Sent before it continues, so that the child does this first.
  sleeper->send("valid");
  sleeper->send("release");
  sleeper->go_on();
  EXPECT_EQ(sleeper->receive(), "invalid");
  EXPECT_EQ(sleeper->receive(), "error not_held");
  EXPECT_TRUE(c.is_live(next->stamp)) << "it touched the next holder";
}

// SEM 4: a counter in a file that only the lock protects
TEST_P(CrossProcess, NoUpdateOfAFileIsLost) {
  if (lacks_processes()) return;
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("lockset-count-" + Token::random().hex());
  std::ofstream(path) << 0;
  const auto one = holder("one", 10s);
  const auto two = holder("two", 10s);
  const std::string command = "count " + path.string() + " 100 counter";
  one->send(command);
  two->send(command);
  EXPECT_EQ(one->receive(), "counted 100");
  EXPECT_EQ(two->receive(), "counted 100");
  long value = 0;
  std::ifstream(path) >> value;
  EXPECT_EQ(value, 200);
  std::filesystem::remove(path);
}

LOCKSET_CONFORMANCE_SUITE(CrossProcess);

}  // namespace
}  // namespace lockset::conformance
