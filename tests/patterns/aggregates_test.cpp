#include "lockset/patterns/aggregates.h"

#include <gtest/gtest.h>

#include "tests/patterns/space.h"

namespace lockset::patterns_tests {
namespace {

using Items = std::vector<LockRequest>;

Items items_of(const Result<LockSet>& set) {
  const auto items = set.value().items();
  return {items.begin(), items.end()};
}

class AggregatesTest : public SpaceTest {
 protected:
  AggregatesTest() { aggregates_.declare(first_parts(2)); }

  Locks locks_ = open_locks();
  Aggregates aggregates_;
};
LOCKSET_PATTERN_SUITE(AggregatesTest);

// SEM 24
TEST_P(AggregatesTest, AMemberIsLockedByItsRoot) {
  const Hold hold =
      locks_.acquire(aggregates_.lock_set({write("customer/42/address/3")}).value()).value();
  ASSERT_EQ(hold.items().size(), 1U);
  EXPECT_EQ(hold.items()[0], write("customer/42"));
  const auto try_member = [&](const char* name) {
    return locks_.try_acquire(aggregates_.lock_set({write(name)}).value()).value().has_value();
  };
  EXPECT_FALSE(try_member("customer/42/address/4"));  // also one that is not there yet
  EXPECT_FALSE(try_member("customer/42"));
  EXPECT_TRUE(try_member("customer/43/address/3"));
}

// SEM 24: the cost does not grow with the members, and the limit of a set is one of roots
TEST_P(AggregatesTest, AThousandMembersAreOneName) {
  Items members;
  for (int i = 0; i < 1000; ++i) members.push_back(write("customer/42/order/" + std::to_string(i)));
  const Hold hold = locks_.acquire(aggregates_.lock_set(members).value()).value();
  EXPECT_EQ(hold.items().size(), 1U);
  EXPECT_EQ(holds().at(0).items.size(), 1U);
  Items roots;
  for (std::size_t i = 0; i <= max_set_size; ++i) {
    roots.push_back(write("customer/" + std::to_string(i) + "/order"));
  }
  EXPECT_EQ(aggregates_.lock_set(roots).error().code, Errc::invalid);
}

// SEM 24
TEST_P(AggregatesTest, RootsAndPlainNamesMix) {
  EXPECT_EQ(items_of(aggregates_.lock_set({read("rates"), write("customer/7/note"), write("ledger"),
                                           read("customer/8/note")})),
            (Items{write("customer/7"), read("customer/8"), write("ledger"), read("rates")}));
}

// SEM 24: the strongest mode, whatever the order
TEST_P(AggregatesTest, ARootIsWrittenIfAMemberIs) {
  EXPECT_EQ(items_of(aggregates_.lock_set({read("c/1/a"), write("c/1/b"), read("c/1/c")})),
            Items{write("c/1")});
  EXPECT_EQ(items_of(aggregates_.lock_set({read("c/1/a"), read("c/1/b")})), Items{read("c/1")});
  EXPECT_EQ(items_of(aggregates_.lock_set({write("c/1"), read("c/1/b")})), Items{write("c/1")});
  EXPECT_EQ(items_of(aggregates_.lock_set({read("c/1"), write("c/1/b")})), Items{write("c/1")});
  // Names that are in no aggregate keep the core's rule
  EXPECT_EQ(aggregates_.lock_set({read("x"), write("x")}).error().code, Errc::invalid);
}

TEST_P(AggregatesTest, RefusesWhatIsNoSet) {
  EXPECT_EQ(aggregates_.lock_set({}).error().code, Errc::invalid);
  EXPECT_EQ(aggregates_.lock_set({write("c/1/\n")}).error().code, Errc::invalid);
  EXPECT_EQ(aggregates_.lock_set({write("@a/b/c")}).error().code, Errc::invalid);
  EXPECT_EQ(aggregates_.lock_set({write("/")}).value().items()[0].name, "/");
}

TEST(AggregatesNames, ARootMayBeAMember) {
  Aggregates aggregates;
  aggregates.declare(with_prefix("address:42:", "customer:42"));
  aggregates.declare(with_prefix("customer:", "all customers"));
  EXPECT_EQ(aggregates.root_of("address:42:3").value(), "all customers");
  EXPECT_EQ(aggregates.root_of("address:43:3").value(), "address:43:3");
  EXPECT_EQ(aggregates.root_of("all customers").value(), "all customers");
}

TEST(AggregatesNames, ARootIsNoMemberOfItself) {
  Aggregates aggregates;
  aggregates.declare(with_prefix("a", "a"));
  aggregates.declare([](std::string_view name) { return std::optional<std::string>(name); });
  EXPECT_EQ(aggregates.root_of("a").value(), "a");
  EXPECT_EQ(aggregates.root_of("ab").value(), "a");
}

TEST(AggregatesNames, ACircleIsRefused) {
  Aggregates aggregates;
  aggregates.declare(with_prefix("a", "b"));
  aggregates.declare(with_prefix("b", "a"));
  EXPECT_EQ(aggregates.root_of("a").error().code, Errc::invalid);
  EXPECT_EQ(aggregates.lock_set({write("a")}).error().code, Errc::invalid);
}

}  // namespace
}  // namespace lockset::patterns_tests
