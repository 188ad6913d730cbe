// SEM 18: a child never renews or releases its parent's holds.
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/suite.h"

namespace lockset::conformance {
namespace {

class Fork : public Conformance {
 protected:
  // Runs `body` in a child; its exit code, or 128 + the signal. The child must not
  // run anything of the test framework.
  static int in_child(const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);  // a child that hangs dies of it, and the test fails
      _exit(body());
    }
    int status = 0;
    if (waitpid(pid, &status, 0) != pid) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
};

TEST_P(Fork, TheParentsHoldIsNotValidInTheChild) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(in_child([&] {
              if (hold.valid()) return 1;
              if (mine.valid(hold.stamp())) return 2;
              return 0;
            }),
            0);
  EXPECT_TRUE(hold.valid()) << "the parent is not affected";
}

TEST_P(Fork, TheChildCannotReleaseOrRenew) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  const auto not_held = [](const Status& status) {
    return !status && status.error().code == Errc::not_held;
  };
  EXPECT_EQ(in_child([&] {
              if (!not_held(hold.renew())) return 1;
              if (!not_held(hold.release())) return 2;
              return 0;
            }),
            0);
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(hold.release()) << "the parent still can";
}

TEST_P(Fork, TheManagerRefusesToWorkInTheChild) {
  Locks mine = locks();
  const Hold hold = mine.acquire({write("a")}).value();
  const auto invalid = [](const auto& result) {
    return !result && result.error().code == Errc::invalid;
  };
  EXPECT_EQ(in_child([&] {
              if (!invalid(mine.acquire({write("b")}, {.wait = 0s}))) return 1;
              if (!invalid(mine.try_locks({write("b")}))) return 2;
              if (!invalid(mine.release_locks(hold.stamp()))) return 3;
              if (!invalid(mine.renew_locks(hold.stamp()))) return 4;
              if (!invalid(mine.break_hold(hold.stamp()))) return 5;
              if (!invalid(mine.inspect())) return 6;
              return 0;
            }),
            0);
  EXPECT_EQ(space().look().size(), 1U);
}

TEST_P(Fork, DestructorsInTheChildDoNothing) {
  auto mine = std::make_unique<Locks>(locks());
  auto hold = std::make_unique<Hold>(mine->acquire({write("a")}).value());
  EXPECT_EQ(in_child([&] {
              hold.reset();
              mine.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(hold->valid());
  EXPECT_TRUE(hold->release());
}

// SEM 18: and the parent's renewals go on, the child's ceasing to be does not stop them
TEST_P(Fork, TheParentGoesOnRenewing) {
  Locks mine = locks({.lease = 1s});
  const Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(in_child([&] { return hold.valid() ? 1 : 0; }), 0);
  const TimePoint until = BootClock::now() + 1500ms;
  ASSERT_TRUE(eventually([&] { return BootClock::now() >= until; }));
  EXPECT_TRUE(hold.valid());
}

// ThreadSanitizer ends a forked child that starts a thread ("dup thread with used id"),
// as taking a lock does; a run under it only looks.
#if defined(__SANITIZE_THREAD__)
constexpr bool children_may_start_threads = false;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool children_may_start_threads = false;
#else
constexpr bool children_may_start_threads = true;
#endif
#else
constexpr bool children_may_start_threads = true;
#endif

// SEM 18: a child may open its own
TEST_P(Fork, AChildMayOpenItsOwn) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  Locks mine = locks({.app = "parent"});
  const Hold hold = mine.acquire({write("a")}).value();
  const std::string url = space().url();
  EXPECT_EQ(in_child([&] {
              Result<Locks> own = lockset::open(url, {.app = "child"});
              if (!own) return 1;
              const Result<Inspection> seen = own->inspect();
              if (!seen || seen->holds.size() != 1) return 5;
              if (!children_may_start_threads) return 0;
              Result<std::optional<Hold>> taken = own->try_acquire({write("a")});
              if (!taken || *taken) return 2;
              Result<Hold> other = own->acquire({write("b")}, {.wait = 5s});
              if (!other || !other->valid()) return 3;
              return other->release() ? 0 : 4;
            }),
            0);
  EXPECT_TRUE(hold.valid());
}

LOCKSET_CONFORMANCE_SUITE(Fork);

}  // namespace
}  // namespace lockset::conformance
