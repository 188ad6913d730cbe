#include "core/chores.h"

#include <gtest/gtest.h>

namespace lockset {
namespace {

using namespace std::chrono_literals;

TimePoint at(Duration since) { return TimePoint(since); }

// SEM 14
TEST(Chores, AreDueMoreSeldomEachTimeAndEndWithTheLease) {
  Chores chores;
  chores.add({Stamp{7}, at(10s), at(1s)});
  EXPECT_EQ(chores.next(), at(1s));
  EXPECT_TRUE(chores.take_due(at(999ms)).empty());
  std::vector<Chore> due = chores.take_due(at(1s));
  ASSERT_EQ(due.size(), 1U);
  EXPECT_TRUE(chores.empty());

  chores.again(due.front(), at(1s));
  EXPECT_EQ(chores.next(), at(1200ms));
  due = chores.take_due(at(1200ms));
  chores.again(due.front(), at(1200ms));
  EXPECT_EQ(chores.next(), at(1600ms));

  EXPECT_TRUE(chores.take_due(at(10s)).empty()) << "over: the lease has ended";
  EXPECT_TRUE(chores.empty());
  EXPECT_EQ(chores.next(), TimePoint::max());
}

}  // namespace
}  // namespace lockset
