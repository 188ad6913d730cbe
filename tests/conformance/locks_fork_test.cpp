// SEM 18: a child never renews or releases its parent's holds.
#include <memory>

#include "tests/conformance/suite.h"
#include "tests/support/event_counts.h"
#include "tests/support/forked.h"

namespace lockset::conformance {
namespace {

class Fork : public Conformance {
 protected:
  void a_child_keeps_its_hold_while_the_parent_closes(bool open_at_the_fork);
};

TEST_P(Fork, TheParentsHoldIsNotValidInTheChild) {
  Locks mine = locks();
  Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(test::in_child([&] {
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
  EXPECT_EQ(test::in_child([&] {
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
    return !result.ok() && result.error().code == Errc::invalid;
  };
  EXPECT_EQ(test::in_child([&] {
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
  EXPECT_EQ(test::in_child([&] {
              hold.reset();
              mine.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(space().look().size(), 1U);
  EXPECT_TRUE(hold->valid());
  EXPECT_TRUE(hold->release());
}

// SEM 18: and the parent's renewals continue, even after the child ended
TEST_P(Fork, TheParentGoesOnRenewing) {
  const auto events = std::make_shared<test::EventCounts>();
  Locks mine = locks({.lease = 5s, .observer = events});
  const Hold hold = mine.acquire({write("a")}).value();
  EXPECT_EQ(test::in_child([&] { return hold.valid() ? 1 : 0; }), 0);
  const int before = events->renewed;
  // The first one may have begun before.
  EXPECT_TRUE(eventually([&] { return events->renewed >= before + 2; }));
  EXPECT_TRUE(hold.valid());
}

// ThreadSanitizer ends a forked child that starts a thread ("dup thread with used id"), and taking
// a lock starts one; under it the child only looks.
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

// The child takes a lock, all clients in the parent's process are closed, a later client can't take
// what the child holds, and the child continues.
void Fork::a_child_keeps_its_hold_while_the_parent_closes(bool open_at_the_fork) {
  const std::string url = space().url();
  auto before = std::make_unique<Locks>(locks({.app = "parent"}));
  ASSERT_TRUE(before->acquire({write("b")}).value().release());
  if (!open_at_the_fork) before.reset();
  test::Signal holds;
  test::Signal may_end;
  const pid_t child = test::start_child([&] {
    may_end.only_hears();
    Result<Locks> own = lockset::open(url, {.app = "child"});
    if (!own) return 1;
    const Result<Inspection> seen = own->inspect();
    if (!seen || !seen->holds.empty()) return 2;
    if (!children_may_start_threads) {
      return holds.send() && may_end.heard() ? 0 : 3;
    }
    Result<Hold> hold = own->acquire({write("b")}, {.wait = 5s});
    if (!hold || !hold->valid()) return 4;
    if (!holds.send() || !may_end.heard()) return 5;
    if (!hold->valid()) return 6;
    if (!own->acquire({write("c")}, {.wait = 5s})) return 7;
    return hold->release() ? 0 : 8;
  });
  holds.only_hears();
  if (holds.heard()) {
    // Once as the first and once as the last client of this process.
    if (!before) before = std::make_unique<Locks>(locks({.app = "parent"}));
    EXPECT_EQ(before->try_locks({write("b")}).value() == Stamp{}, children_may_start_threads);
    before.reset();
    Locks later = locks({.app = "later"});
    EXPECT_EQ(later.try_locks({write("b")}).value() == Stamp{}, children_may_start_threads)
        << "the child's hold is valid";
    EXPECT_EQ(later.inspect().value().holds.size(), 1U);
  }
  EXPECT_TRUE(may_end.send());
  EXPECT_EQ(test::end_of(child), 0);
}

// SEM 18: a child may open the space itself
TEST_P(Fork, AChildMayOpenItsOwn) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  if (skip_unless(harness().harness_traits().opens_after_fork, "opens after a fork")) return;
  Locks mine = locks({.app = "parent"});
  const Hold hold = mine.acquire({write("a")}).value();
  const std::string url = space().url();
  EXPECT_EQ(test::in_child([&] {
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

// SEM 18: and its holds stay when the parent ends
TEST_P(Fork, AChildKeepsItsHoldWhileTheParentCloses) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  if (skip_unless(harness().harness_traits().opens_after_fork, "opens after a fork")) return;
  a_child_keeps_its_hold_while_the_parent_closes(true);
}

// SEM 18: a space that was closed before the fork counts as closed, on any store
TEST_P(Fork, AChildMayOpenWhatWasClosedBefore) {
  if (skip_unless(!space().url().empty(), "other processes")) return;
  a_child_keeps_its_hold_while_the_parent_closes(false);
}

// SEM 18: or the child is refused if any process before it had the space open at the fork
TEST_P(Fork, AChildIsRefusedWhatWasOpenAtTheFork) {
  if (skip_unless(!harness().harness_traits().opens_after_fork, "refuses after a fork")) return;
  auto mine = std::make_unique<Locks>(locks());
  auto more = std::make_unique<Locks>(locks());
  const std::string url = space().url();
  const auto refused = [&url] {
    const Result<Locks> own = lockset::open(url, {.app = "child"});
    return !own && own.error().code == Errc::misconfigured &&
           own.error().message.find("fork") != std::string::npos;
  };
  const auto refused_in_grandchild = [&] {
    return test::in_child([&] { return refused() ? 0 : 1; });
  };
  EXPECT_EQ(test::in_child([&] { return refused() ? 0 : 1; }), 0);
  EXPECT_EQ(test::in_child(refused_in_grandchild), 0);
  mine.reset();
  EXPECT_EQ(test::in_child([&] { return refused() ? 0 : 1; }), 0) << "one client is left";
  EXPECT_TRUE(more->acquire({write("a")}, {.wait = 5s}).value().valid())
      << "the parent is not affected";
  // No matter what the parent does afterwards.
  test::Signal closed;
  const pid_t child = test::start_child([&] {
    closed.only_hears();
    if (!closed.heard()) return 2;
    return refused() ? 0 : 1;
  });
  more.reset();
  EXPECT_TRUE(closed.send());
  EXPECT_EQ(test::end_of(child), 0);
}

LOCKSET_CONFORMANCE_SUITE(Fork);

}  // namespace
}  // namespace lockset::conformance
