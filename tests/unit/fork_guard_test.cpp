// SEM 18
#include "core/fork_guard.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace lockset {
namespace {

using Fork = std::function<pid_t()>;

// As in programs that make their children directly: no handler of pthread_atfork runs.
pid_t bare_clone() { return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }

// The result of `look` in a child; -1 if there is none.
int in_child(const Fork& make_child, const std::function<int()>& look) {
  const pid_t child = make_child();
  if (child == 0) ::_exit(look());
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class ForkGuardTest : public ::testing::TestWithParam<Fork> {};

TEST_P(ForkGuardTest, KnowsAChild) {
  const ForkGuard guard;
  EXPECT_FALSE(guard.in_child());
  EXPECT_EQ(in_child(GetParam(), [&] { return guard.in_child() ? 1 : 0; }), 1);
  EXPECT_FALSE(guard.in_child()) << "a fork made the parent a child";
}

TEST_P(ForkGuardTest, AChildsOwnIsKnownInAGrandchild) {
  const int all_known = in_child(GetParam(), [&] {
    const ForkGuard own;
    if (own.in_child()) return 0;
    return in_child(GetParam(), [&] { return own.in_child() ? 1 : 0; });
  });
  EXPECT_EQ(all_known, 1);
}

// The child in the middle never asks.
TEST_P(ForkGuardTest, AGrandchildIsNoChildOfItsOwn) {
  const ForkGuard guard;
  const int known = in_child(GetParam(), [&] {
    return in_child(GetParam(), [&] { return guard.in_child() && !ForkGuard().in_child(); });
  });
  EXPECT_EQ(known, 1);
}

INSTANTIATE_TEST_SUITE_P(Ways, ForkGuardTest, ::testing::Values(Fork(::fork), Fork(bare_clone)),
                         [](const auto& way) { return way.index == 0 ? "fork" : "clone"; });

}  // namespace
}  // namespace lockset
