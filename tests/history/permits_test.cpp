// I9: SEM 6, 7
#include "tests/history/story.h"

namespace lockset::history {
namespace {

// 3 from the beginning; changed to 1 from 100 to 110.
Story changed() {
  Story story;
  story.add("c", 0, PermitsBegin{"a", 3, 3}).add("c", 5, PermitsEnd{"a", 3, 3});
  return story.add("c", 100, PermitsBegin{"a", 1, 1}).add("c", 110, PermitsEnd{"a", 1, 1});
}
Report granted(std::uint32_t permits, std::int64_t asked, std::int64_t returned) {
  return changed().had("p", 1, 10, {w("a", permits)}, asked, returned, 900, 901).check();
}

TEST(PermitsChange, AGrantThatGoesByThoseOfItsTimeIsKept) {
  expect_kept(granted(3, 6, 99));
  expect_kept(granted(3, 105, 120));
  expect_kept(granted(1, 90, 100));
  expect_kept(granted(1, 111, 120));
  expect_kept(granted(7, 0, 3));
}

TEST(PermitsChange, AGrantByOldOnesOrByNonesIsNot) {
  expect_only(granted(3, 111, 120), Invariant::permits, "which were then 1");
  expect_only(granted(1, 6, 99), Invariant::permits, "which were then 3");
  expect_only(granted(2, 90, 105), Invariant::permits, "which were then 1 3");
}

TEST(PermitsChange, OneThatNeverReturnedMayApplyEverAfter) {
  Story story = changed();
  story.add("d", 200, PermitsBegin{"a", 5, 5});
  story.had("p", 1, 10, {r("a", 5)}, 300, 301, 310, 311);
  story.had("p", 2, 11, {r("a", 1)}, 400, 401, 410, 411);
  expect_kept(story.check());
  story.had("p", 3, 12, {r("a", 3)}, 500, 501, 510, 511);
  expect_only(story.check(), Invariant::permits, "which were then 5 1");
}

TEST(PermitsChange, OneBehindALongOneIsVoidAllTheSame) {
  Story story;
  story.add("d", 0, PermitsBegin{"a", 9, 9}).add("d", 800, PermitsEnd{"a", 9, 9});
  story.add("c", 10, PermitsBegin{"a", 2, 2}).add("c", 20, PermitsEnd{"a", 2, 2});
  story.add("c", 30, PermitsBegin{"a", 3, 3}).add("c", 40, PermitsEnd{"a", 3, 3});
  story.had("p", 1, 10, {r("a", 2)}, 50, 51, 60, 61);
  expect_only(story.check(), Invariant::permits, "which were then 3 9");
}

// A client that did not record its permits may have had the highest possible ones.
TEST(PermitsChange, WithoutAWordTheMostThatWasPossibleCounts) {
  const auto three = [](std::int64_t asked) {
    Story story = changed();
    for (std::int64_t i = 0; i < 3; ++i) {
      story.had("p", static_cast<std::uint64_t>(i), 10 + i, {w("a", 0)}, asked + i, asked + 4 + i,
                900 + i, 950);
    }
    return story.check();
  };
  expect_kept(three(100));
  EXPECT_GE(three(111).found_of(Invariant::exclusion), 1U);
  Story fallback;
  fallback.had("p", 1, 10, {r("b", 0)}, 0, 1, 20, 21).had("p", 2, 11, {r("b", 0)}, 2, 3, 22, 23);
  EXPECT_EQ(fallback.check().found_of(Invariant::exclusion), 1U);
  Rules rules;
  rules.read_permits = 2;
  expect_kept(fallback.check(rules));
}

// Lowering revokes nothing.
TEST(PermitsChange, HoldersFromBeforeStay) {
  Story story = changed();
  story.had("p", 1, 10, {w("a", 3)}, 20, 30, 200, 201)
      .had("q", 1, 11, {w("a", 3)}, 20, 30, 900, 901);
  story.had("r", 1, 12, {w("a", 1)}, 902, 903, 910, 911);
  expect_kept(story.check());
}

}  // namespace
}  // namespace lockset::history
