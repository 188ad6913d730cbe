// I6: SEM 8
#include "tests/history/story.h"

namespace lockset::history {
namespace {

Use use(std::int64_t stamp, bool accepted, const char* name = "a") {
  return {Stamp{stamp}, name, accepted};
}
// p holds from 1 to 50, q from 61 to 100.
Story two() {
  Story story;
  story.had("p", 1, 10, {w("a"), w("b")}, 0, 1, 50, 60);
  return story.had("q", 1, 11, {w("a")}, 60, 61, 100, 110);
}

TEST(Resource, HoldersInTheirTimeAndStaleOnesRefusedIsKept) {
  expect_kept(two()
                  .add("p", 20, use(10, true))
                  .add("q", 70, use(11, true))
                  .add("p", 80, use(10, false))
                  .check());
}

TEST(Resource, AStaleHolderLetInIsNot) {
  expect_only(two().add("q", 70, use(11, true)).add("p", 80, use(10, true)).check(),
              Invariant::resource, "a stale holder was let in: stamp 10");
  expect_kept(two().add("q", 70, use(11, true)).add("p", 80, use(10, true, "b")).check());
  expect_kept(two().add("p", 62, use(10, true)).add("q", 70, use(11, true)).check());
}

TEST(Resource, ALiveHolderRefusedIsNot) {
  expect_only(two().add("p", 20, use(10, false)).check(), Invariant::resource,
              "a live holder was refused: stamp 10");
  expect_kept(two().add("p", 50, use(10, false)).check());
}

// SEM 20: p is promised until 1060, and the store ends its hold at 30, because its clock stepped
// forward. q has the name from 41 on.
TEST(Resource, WhereLeasesEndEarlyOnlyTheFenceIsJudged) {
  const auto stepped = [] {
    Story story;
    story.hold("p", 1, 10, {w("a")}, 0, 1, 1060).had("q", 1, 11, {w("a")}, 40, 41, 100, 110);
    story.add("p", 1061, Lost{Stamp{10}});
    story.add("q", 70, use(11, true)).add("p", 80, use(10, false));
    return story.add("s", 60, SeenBegin{})
        .add("s", 60, Seen{Stamp{11}, {w("a")}})
        .add("s", 61, SeenEnd{});
  };
  Rules rules;
  rules.leases_last = false;
  expect_kept(stepped().check(rules));
  const Report strict = stepped().check();
  for (const Invariant broken :
       {Invariant::exclusion, Invariant::fencing, Invariant::atomic_sets, Invariant::resource}) {
    EXPECT_EQ(strict.found_of(broken), 1U) << to_string(broken);
  }
  expect_only(stepped().add("p", 81, use(10, true)).check(rules), Invariant::resource,
              "a stale holder was let in: stamp 10");
  // Stamps still grow.
  expect_only(stepped().had("t", 1, 9, {w("b")}, 120, 121, 130, 131).check(rules),
              Invariant::fencing, "has the smaller stamp");
}

// Two readers with stamps 10 and 11 share; the floor is 10 for both.
TEST(Resource, ThoseWhoShareGoByTheirFloors) {
  const auto shared = [](std::vector<Stamp> floors) {
    Story story;
    story.hold("p", 1, 10, {r("a", 2)}, 0, 1, 500);
    story.ask("q", 1, 0, {r("a", 2)}).add("q", 2, Granted{1, Stamp{11}, ms(500), floors});
    return story.add("q", 20, use(11, true)).add("p", 30, use(10, true)).check();
  };
  expect_kept(shared({Stamp{10}}));
  expect_only(shared({Stamp{11}}), Invariant::resource, "a stale holder");
  expect_kept(shared({}));
}

}  // namespace
}  // namespace lockset::history
