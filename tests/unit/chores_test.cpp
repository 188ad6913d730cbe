#include "core/chores.h"

#include <gtest/gtest.h>

#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

using test::at;

Chore due_at(TimePoint when, Stamp stamp) {
  const LockSet set = LockSet::make({write("a")}).value();
  return {{set, {}, Token::random(), stamp}, at(10s), when};
}

// SEM 14
TEST(Chores, AreDueMoreSeldomEachTimeAndEndWithTheLease) {
  Chores chores;
  chores.add(due_at(at(1s), Stamp{7}));
  EXPECT_EQ(chores.next(), at(1s));
  EXPECT_FALSE(chores.take_due(at(999ms)));
  std::optional<Chore> due = chores.take_due(at(1s));
  ASSERT_TRUE(due);
  EXPECT_TRUE(chores.empty());

  chores.again(*due, at(1s));
  EXPECT_EQ(chores.next(), at(1200ms));
  due = chores.take_due(at(1200ms));
  ASSERT_TRUE(due);
  chores.again(*due, at(1200ms));
  EXPECT_EQ(chores.next(), at(1600ms));

  EXPECT_FALSE(chores.take_due(at(10s))) << "over: the lease has ended";
  EXPECT_TRUE(chores.empty());
  EXPECT_EQ(chores.next(), TimePoint::max());
}

TEST(Chores, ComeInTheOrderInWhichTheyWereDue) {
  Chores chores;
  chores.add(due_at(at(3s), Stamp{1}));
  chores.add(due_at(at(1s), Stamp{2}));
  chores.add(due_at(at(2s), Stamp{3}));
  const auto next = [&] {
    const std::optional<Chore> due = chores.take_due(at(2s));
    return due ? due->hold.stamp : Stamp{};
  };
  EXPECT_EQ(next(), Stamp{2});
  EXPECT_EQ(next(), Stamp{3});
  EXPECT_EQ(next(), Stamp{});
  EXPECT_EQ(chores.next(), at(3s));
}

}  // namespace
}  // namespace lockset
