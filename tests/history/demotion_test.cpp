// A server that was demoted: SEM 20
#include <functional>

#include "tests/history/story.h"

namespace lockset::history {
namespace {

// Demoted from 100 to 200.
Report with(const std::function<void(Story&)>& tell) {
  Story story;
  story.had("h", 1, 5, {w("b")}, 0, 1, 5, 6);
  story.add("controller", 100, DemotedBegin{}).add("controller", 200, DemotedEnd{});
  tell(story);
  return story.check();
}

TEST(Demotion, GrantsNothing) {
  const auto granted = [](std::int64_t asked, std::int64_t returned) {
    return with([&](Story& story) { story.had("p", 1, 10, {w("a")}, asked, returned, 300, 301); });
  };
  expect_only(granted(100, 200), Invariant::exclusion, "granted by a server that was demoted");
  expect_kept(granted(99, 150));
  expect_kept(granted(150, 201));
  expect_kept(granted(201, 202));
}

TEST(Demotion, RenewsNothing) {
  const auto renewed = [](std::int64_t sent, What answer) {
    return with([&](Story& story) {
      story.hold("p", 1, 10, {w("a")}, 0, 1, 400);
      story.add("p", sent, Renew{Stamp{10}}).add("p", 150, answer);
      story.release("p", 10, 300, 301);
    });
  };
  const Renewed done{Stamp{10}, ms(500)};
  expect_only(renewed(120, done), Invariant::exclusion, "renewed by a server that was demoted");
  expect_kept(renewed(99, done));
  expect_kept(renewed(120, RenewUnknown{Stamp{10}}));
}

TEST(Demotion, ObservesNothing) {
  const auto observed = [](std::int64_t asked, std::int64_t answered) {
    return with([&](Story& story) {
      story.add("p", asked, Observe{7}).add("p", answered, Observed{7, {{"a", Stamp{3}, false}}});
    });
  };
  expect_only(observed(100, 200), Invariant::observing, "observed in a server that was demoted");
  expect_kept(observed(99, 150));
  expect_kept(observed(150, 201));
  const auto validated = [](What answer) {
    return with([&](Story& story) {
      story.add("p", 10, Observe{7}).add("p", 20, Observed{7, {{"a", Stamp{3}, false}}});
      story.add("p", 120, Validate{8, 7}).add("p", 150, std::move(answer));
    });
  };
  expect_only(validated(Unchanged{8}), Invariant::observing, "observed in a server that was");
  expect_kept(validated(NotValidated{8}));
}

TEST(Demotion, WhatMakesNoSenseIsRefused) {
  const auto complaint = [](What first, What second) {
    Story story;
    story.add("c", 1, std::move(first)).add("c", 2, std::move(second));
    return history::check(story.history(), {}).error().message;
  };
  EXPECT_NE(complaint(DemotedBegin{}, DemotedBegin{}).find("demoted before"), std::string::npos);
  EXPECT_NE(complaint(End{}, DemotedEnd{}).find("did not begin"), std::string::npos);
}

}  // namespace
}  // namespace lockset::history
