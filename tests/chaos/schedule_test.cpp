// The seed alone decides which faults happen, and everything gets its turn.
#include "tests/chaos/schedule.h"

#include <gtest/gtest.h>

#include <map>

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

std::vector<StoreSchedule::Shape> some_faults() {
  return {{0s, 0s, ""}, {1s, 3s, "server"}, {2s, 2s, "server"}, {1s, 5s, "net"}, {1s, 1s, "net"}};
}

std::string print(const StoreSchedule::Round& round) {
  const auto one = [](const StoreSchedule::One& each) {
    return std::to_string(each.fault) + " " + std::to_string(each.lasts.count()) + " " +
           std::to_string(each.seed);
  };
  return std::to_string(round.calm.count()) + " " + one(round.first) +
         (round.second
              ? " + " + one(*round.second) + " " + std::to_string(round.second_after.count())
              : "");
}

TEST(StoreSchedule, SameSeedSameFaults) {
  StoreSchedule first(7, some_faults(), 2s);
  StoreSchedule second(7, some_faults(), 2s);
  StoreSchedule other(8, some_faults(), 2s);
  std::size_t differ = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string text = print(first.next());
    EXPECT_EQ(text, print(second.next()));
    if (text != print(other.next())) ++differ;
  }
  EXPECT_GT(differ, 90U);
}

TEST(StoreSchedule, EachFaultHasItsTurnAndItsTime) {
  const auto faults = some_faults();
  StoreSchedule schedule(3, faults, 2s);
  std::map<std::size_t, std::size_t> first;
  std::size_t second = 0;
  for (int i = 0; i < 100; ++i) {
    const StoreSchedule::Round round = schedule.next();
    ++first[round.first.fault];
    EXPECT_GE(round.calm, 500ms);
    EXPECT_LE(round.calm, 2s);
    EXPECT_GE(round.first.lasts, faults[round.first.fault].shortest);
    EXPECT_LE(round.first.lasts, faults[round.first.fault].longest);
    if (!round.second) continue;
    ++second;
    const std::string& group = faults[round.first.fault].group;
    EXPECT_NE(round.first.fault, round.second->fault);
    EXPECT_TRUE(group.empty() || group != faults[round.second->fault].group);
    EXPECT_LE(round.second_after, round.first.lasts);
  }
  for (std::size_t i = 0; i < faults.size(); ++i) EXPECT_EQ(first[i], 20U) << i;
  EXPECT_GT(second, 15U);
  EXPECT_LT(second, 60U);
}

TEST(StoreSchedule, OneFaultAloneHasNoSecond) {
  StoreSchedule schedule(3, {{1s, 1s, ""}}, 2s);
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(schedule.next().second);
}

TEST(ProcessSchedule, StopsOutliveLeases) {
  ProcessSchedule schedule(5, 8, 2s, 6s, true, true);
  std::map<bool, std::size_t> kills;
  std::map<std::size_t, std::size_t> victims;
  for (int i = 0; i < 400; ++i) {
    const ProcessSchedule::Step step = schedule.next();
    ++kills[step.kill];
    ++victims[step.victim];
    EXPECT_GE(step.pause, 600ms);
    EXPECT_LE(step.pause, 6s);
    EXPECT_GE(step.stopped, 3s);
    EXPECT_LE(step.stopped, 6s);
  }
  EXPECT_GT(kills[true], 100U);
  EXPECT_GT(kills[false], 100U);
  EXPECT_EQ(victims.size(), 8U);
}

TEST(ProcessSchedule, OnlyWhatWasAskedFor) {
  ProcessSchedule kills(5, 2, 1s, 1s, true, false);
  ProcessSchedule stops(5, 2, 1s, 1s, false, true);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(kills.next().kill);
    EXPECT_FALSE(stops.next().kill);
  }
}

}  // namespace
}  // namespace lockset::chaos
