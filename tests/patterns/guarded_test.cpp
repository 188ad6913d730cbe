#include "lockset/patterns/guarded.h"

#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "lockset/patterns/under_locks.h"
#include "tests/patterns/space.h"
#include "tests/support/threads.h"

namespace lockset::patterns_tests {
namespace {

// SEM 25; what must not compile is in must_not_compile.cpp
using Text = Guarded<std::string>;
static_assert(std::is_const_v<std::remove_reference_t<
                  decltype(*std::declval<Text&>().read(std::declval<const Hold&>()).value())>>);
static_assert(!std::is_convertible_v<Text&, std::string&> && !std::is_copy_constructible_v<Text>);

class GuardedTest : public SpaceTest {
 protected:
  Locks locks_ = open_locks();
  Guarded<std::string> text_{"text", "old"};
};
LOCKSET_PATTERN_SUITE(GuardedTest);

// SEM 25
TEST_P(GuardedTest, AccessGoesWithTheMode) {
  {
    const Hold hold = locks_.acquire({text_.for_write(), read("more")}).value();
    *text_.write(hold).value() = "new";
    EXPECT_EQ(text_.read(hold).value()->size(), 3U);
  }
  const Hold hold = locks_.acquire({text_.for_read()}).value();
  EXPECT_EQ(*text_.read(hold).value(), "new");
  EXPECT_EQ(text_.write(hold).error().code, Errc::invalid);
}

// SEM 25
TEST_P(GuardedTest, AnotherHoldOpensNothing) {
  const Hold other = locks_.acquire({write("other"), write("text2")}).value();
  EXPECT_EQ(text_.read(other).error().code, Errc::invalid);
  EXPECT_EQ(text_.write(other).error().code, Errc::invalid);
  const Hold nothing;
  EXPECT_EQ(text_.read(nothing).error().code, Errc::not_held);
}

// SEM 25, 29, 30: access goes on under the hold that took the place of the old one, and only there
TEST_P(GuardedTest, AnUpgradedHoldOpensTheContent) {
  Hold reader = locks_.acquire({text_.for_read()}).value();
  auto look = text_.read(reader).value();
  EXPECT_EQ(*look, "old");
  std::optional<Hold> writer = reader.try_upgrade().value();
  ASSERT_TRUE(writer);
  EXPECT_EQ(thrown([&] { (void)look->size(); }), Errc::not_held);
  EXPECT_EQ(text_.read(reader).error().code, Errc::not_held);
  auto edit = text_.write(*writer).value();
  *edit = "new";
  std::optional<Hold> again = writer->downgrade().value();
  ASSERT_TRUE(again);
  EXPECT_EQ(thrown([&] { edit->clear(); }), Errc::not_held);
  EXPECT_EQ(text_.write(*again).error().code, Errc::invalid) << "it is a read now";
  EXPECT_EQ(*text_.read(*again).value(), "new");
}

// SEM 25: at each access, and before the content is touched
TEST_P(GuardedTest, ALostHoldIsToldBeforeTheAccess) {
  Hold hold = locks_.acquire({text_.for_write()}).value();
  auto edit = text_.write(hold).value();
  auto look = text_.read(hold).value();
  *edit = "first";
  break_hold(hold.stamp());
  EXPECT_FALSE(hold.renew());
  EXPECT_EQ(thrown([&] { *edit = "second"; }), Errc::not_held);
  EXPECT_EQ(thrown([&] { edit->clear(); }), Errc::not_held);
  EXPECT_EQ(thrown([&] { (void)look->size(); }), Errc::not_held);
  EXPECT_EQ(text_.write(hold).error().code, Errc::not_held);
  const Hold next = locks_.acquire({text_.for_read()}).value();
  EXPECT_EQ(*text_.read(next).value(), "first");
}

TEST_P(GuardedTest, AReleasedOrMovedHoldOpensNothing) {
  Hold hold = locks_.acquire({text_.for_write()}).value();
  auto edit = text_.write(hold).value();
  Hold moved = std::move(hold);
  EXPECT_EQ(thrown([&] { edit->clear(); }), Errc::not_held);
  EXPECT_TRUE(text_.write(moved));
  moved.release().value();
  EXPECT_EQ(text_.write(moved).error().code, Errc::not_held);
}

// Two clients, as if they were two processes: their memory is ordered all the same
TEST_P(GuardedTest, HoldersFollowEachOther) {
  Guarded<int> counter("counter", 0);
  std::vector<Locks> clients;
  for (int i = 0; i < 2; ++i) clients.push_back(open_locks());
  test::run_threads(2, [&](std::size_t i) {
    for (int n = 0; n < 50; ++n) {
      const Hold hold = clients[i].acquire({counter.for_write()}).value();
      ++*counter.write(hold).value();
    }
  });
  const Hold hold = locks_.acquire({counter.for_read()}).value();
  EXPECT_EQ(*counter.read(hold).value(), 100);
}

class UnderLocksTest : public SpaceTest {
 protected:
  Locks locks_ = open_locks();
};
LOCKSET_PATTERN_SUITE(UnderLocksTest);

// SEM 25
TEST_P(UnderLocksTest, EachCallTakesWhatItsArgumentsDeclare) {
  const auto transfer = under_locks(
      locks_,
      [](const std::string& from, const std::string& to, int) {
        return std::vector{write(from), write(to)};
      },
      [&](const Hold& hold, const std::string& from, const std::string& to, int amount) {
        EXPECT_TRUE(hold.valid());
        EXPECT_FALSE(is_free({write(from)}));
        EXPECT_FALSE(is_free({write(to)}));
        EXPECT_EQ(hold.items().size(), 2U);
        return amount * 2;
      });
  EXPECT_EQ(transfer("a", "b", 21).value(), 42);
  EXPECT_TRUE(is_free({write("a"), write("b")}));
  EXPECT_EQ(transfer("c", "b", 1).value(), 2);
}

TEST_P(UnderLocksTest, OneSetForAllCalls) {
  int calls = 0;
  const auto job = under_locks(locks_, {write("job")}, [&](const Hold&) {
    EXPECT_FALSE(is_free({write("job")}));
    ++calls;
  });
  EXPECT_TRUE(job().ok());
  EXPECT_TRUE(job().ok());
  EXPECT_EQ(calls, 2);
  EXPECT_TRUE(is_free({write("job")}));
}

// SEM 25
TEST_P(UnderLocksTest, WithoutTheLocksItIsNotCalled) {
  Locks rival = open_locks();
  const Hold in_the_way = rival.acquire({write("job")}).value();
  int calls = 0;
  const auto job =
      under_locks(locks_, {write("job")}, [&](const Hold&) { return ++calls; }, {.wait = 0s});
  EXPECT_EQ(job().error().code, Errc::timeout);
  EXPECT_EQ(calls, 0);
}

// SEM 25
TEST_P(UnderLocksTest, ALossMeanwhileIsNotASuccess) {
  for (const bool noticed : {true, false}) {
    int calls = 0;
    const auto job = under_locks(locks_, {write("job")}, [&](const Hold& hold) {
      break_hold(hold.stamp());
      if (noticed) {
        EXPECT_FALSE(const_cast<Hold&>(hold).renew());
      }
      return ++calls;
    });
    const Result<int> answer = job();
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, Errc::not_held);
    EXPECT_EQ(calls, 1);
  }
}

TEST_P(UnderLocksTest, AnExceptionPassesAndReleases) {
  const auto job = under_locks(locks_, {write("job")},
                               [](const Hold&) -> int { throw std::runtime_error("no"); });
  EXPECT_THROW((void)job(), std::runtime_error);
  EXPECT_TRUE(is_free({write("job")}));
}

}  // namespace
}  // namespace lockset::patterns_tests
