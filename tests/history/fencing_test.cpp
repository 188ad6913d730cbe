// I2: SEM 8
#include "tests/history/story.h"

namespace lockset::history {
namespace {

TEST(Fencing, StampsThatRiseWithTimeAreKept) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 2, 3).had("q", 1, 11, {w("b")}, 4, 5, 6, 7);
  expect_kept(story.check());
}

TEST(Fencing, ASmallerStampAfterAGreaterReturnedIsNot) {
  Story story;
  story.had("p", 1, 11, {w("a")}, 0, 1, 2, 3).had("q", 1, 10, {w("b")}, 4, 5, 6, 7);
  expect_only(story.check(), Invariant::fencing, "asked for after another had returned");
  Rules rules;
  rules.stamps = Rules::StampOrder::per_name;
  expect_kept(story.check(rules));
  story.had("r", 1, 9, {w("a")}, 8, 9, 10, 11);
  expect_only(story.check(rules), Invariant::fencing, "stamp 9 ");
}

TEST(Fencing, AskedAtTheVeryInstantIsKept) {
  Story story;
  story.had("p", 1, 11, {w("a")}, 0, 4, 20, 30).had("q", 1, 10, {w("b")}, 4, 5, 6, 7);
  expect_kept(story.check());
}

// Their calls overlap, so no clock shows which was granted first; but the stamps do.
TEST(Fencing, TheOrderOfStampsHasToBeAdmissible) {
  const auto with = [](std::int64_t p, std::int64_t q) {
    Story story;
    story.hold("p", 1, p, {w("a")}, 0, 30, 40).hold("q", 1, q, {w("a")}, 0, 50, 900);
    return story.check();
  };
  expect_kept(with(10, 11));
  // q before p, and q still holds: p, which was granted by 30, can't have come after.
  expect_only(with(11, 10), Invariant::fencing, "in the order of the stamps");
}

TEST(Fencing, AGrantThatCameTooLateToBeOfUseWasAdmissibleToo) {
  Story story;
  story.hold("q", 1, 10, {w("a")}, 0, 20, 900).add("q", 90, Release{Stamp{10}});
  story.hold("p", 1, 11, {w("a")}, 0, 30, 30);
  expect_only(story.check(), Invariant::fencing, "in the order of the stamps");
}

TEST(Fencing, AStampIsGrantedOnce) {
  Story story;
  story.had("p", 1, 10, {w("a")}, 0, 1, 2, 3).had("q", 1, 10, {w("a")}, 4, 5, 6, 7);
  const Report report = story.check();
  EXPECT_GE(report.found_of(Invariant::fencing), 1U);
  EXPECT_EQ(report.violations.at(0).story.substr(0, 27), "one stamp was granted twice");
}

TEST(Fencing, OfTwoWithOneStampEachReleasesItsOwn) {
  Story story;
  story.hold("p", 1, 10, {w("a")}, 0, 1, 500).release("p", 10, 20, 30);
  story.hold("q", 1, 10, {w("b")}, 0, 1, 500).had("r", 1, 11, {w("a")}, 40, 41, 50, 60);
  expect_only(story.check(), Invariant::fencing, "one stamp was granted twice");
}

TEST(Fencing, NoStampBelowOne) {
  Story story;
  story.had("p", 1, 0, {w("a")}, 0, 1, 2, 3);
  expect_only(story.check(), Invariant::fencing, "not a stamp");
}

}  // namespace
}  // namespace lockset::history
