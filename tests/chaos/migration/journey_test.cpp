// At no step of a journey a process has a configuration that its phase refuses, except processes
// that have to be refused.
#include "tests/chaos/migration/journey.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace lockset::chaos {
namespace {

using Phase = MigrationPhase;

class Journey : public testing::TestWithParam<std::optional<Phase>> {
 protected:
  static constexpr std::size_t processes = 7;
  const std::vector<Leg> legs_ = journey(processes, GetParam());
};

TEST_P(Journey, EachStepGoesOnePhaseOnAndAllEndsFinished) {
  ASSERT_FALSE(legs_.empty());
  EXPECT_EQ(legs_.front().phase, Phase::old_only);
  EXPECT_FALSE(legs_.front().act);
  EXPECT_EQ(legs_.back().phase, Phase::finished);
  for (std::size_t i = 1; i < legs_.size(); ++i) {
    ASSERT_TRUE(legs_[i].act);
    const int on = static_cast<int>(legs_[i].phase) - static_cast<int>(legs_[i - 1].phase);
    EXPECT_EQ(on, *legs_[i].act == Act::roll_back ? -1 : 1) << i;
    EXPECT_EQ(*legs_[i].act == Act::start, on == 1 && legs_[i - 1].phase == Phase::old_only);
    EXPECT_EQ(*legs_[i].act == Act::finish, legs_[i].phase == Phase::finished);
  }
}

TEST_P(Journey, GoesBackFromWhereItIsToldTo) {
  const auto back = std::find_if(legs_.begin(), legs_.end(),
                                 [](const Leg& leg) { return leg.act == Act::roll_back; });
  ASSERT_EQ(back != legs_.end(), GetParam().has_value());
  if (GetParam()) {
    EXPECT_EQ((back - 1)->phase, *GetParam());
  }
}

TEST_P(Journey, WorkersAreServedThroughout) {
  std::vector<Way> ways(processes, Way::old_store);
  for (const Leg& leg : legs_) {
    for (const Way way : ways) EXPECT_TRUE(serves(leg.phase, way)) << to_string(leg.phase);
    for (const Restart& restart : leg.restarts) {
      ASSERT_LE(restart.last, processes);
      EXPECT_TRUE(serves(leg.phase, restart.way));
      for (std::size_t i = restart.first; i < restart.last; ++i) ways[i] = restart.way;
    }
  }
  EXPECT_NE(std::count(ways.begin(), ways.end(), Way::both), 0);
  EXPECT_NE(std::count(ways.begin(), ways.end(), Way::new_store), 0);
}

TEST_P(Journey, ThoseWhoAreToBeRefusedAreNotServed) {
  std::map<Way, int> asleep;
  for (const Leg& leg : legs_) {
    for (const Way way : leg.refused) EXPECT_FALSE(serves(leg.phase, way));
    for (const Way way : leg.woken) {
      EXPECT_FALSE(serves(leg.phase, way));
      EXPECT_GT(asleep[way]--, 0) << "nobody to wake";
    }
    for (const Way way : leg.sleepers) {
      EXPECT_TRUE(serves(leg.phase, way));
      ++asleep[way];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Journey,
                         testing::Values(std::nullopt, Phase::dual_new, Phase::new_only));

}  // namespace
}  // namespace lockset::chaos
