#include "core/chores.h"

#include <gtest/gtest.h>

#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

using test::at;

// SEM 14
TEST(Chores, AreDueMoreSeldomEachTimeAndEndWithTheLease) {
  Chores chores;
  chores.add({Stamp{7}, at(10s), at(1s)});
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
  chores.add({Stamp{1}, at(10s), at(3s)});
  chores.add({Stamp{2}, at(10s), at(1s)});
  chores.add({Stamp{3}, at(10s), at(2s)});
  const auto next = [&] {
    const std::optional<Chore> due = chores.take_due(at(2s));
    return due ? std::get<Stamp>(due->what) : Stamp{};
  };
  EXPECT_EQ(next(), Stamp{2});
  EXPECT_EQ(next(), Stamp{3});
  EXPECT_EQ(next(), Stamp{});
  EXPECT_EQ(chores.next(), at(3s));
}

}  // namespace
}  // namespace lockset
