#include "benchmarks/measure/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "benchmarks/measure/spread.h"

namespace lockset::bench {
namespace {

TEST(Histogram, KnowsEachPercentileToWithinOnePercent) {
  std::mt19937_64 dice(1);
  std::vector<Duration::rep> values;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    // From nanoseconds to a minute, evenly distributed over the powers of two.
    const auto value = static_cast<Duration::rep>(dice() >> (28 + dice() % 36));
    values.push_back(value);
    histogram.add(Duration(value));
  }
  std::sort(values.begin(), values.end());
  for (const double part : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto index = static_cast<std::size_t>(std::ceil(part * 20'000)) - 1;
    const double exact = static_cast<double>(values[index]) / 1000;
    EXPECT_GE(histogram.percentile_us(part), exact) << part;
    EXPECT_LE(histogram.percentile_us(part), exact * 1.01) << part;
  }
  EXPECT_EQ(histogram.count(), 20'000U);
  EXPECT_EQ(histogram.max().count(), values.back());
}

TEST(Histogram, SmallValuesAndTheMeanAreExact) {
  Histogram histogram;
  for (const int ns : {0, 1, 100, 255}) histogram.add(Duration(ns));
  EXPECT_DOUBLE_EQ(histogram.percentile_us(0.75), 0.1);
  EXPECT_DOUBLE_EQ(histogram.percentile_us(1), 0.255);
  EXPECT_DOUBLE_EQ(histogram.mean_us(), 0.089);
}

TEST(Histogram, WhatIsBelowZeroCountsAsZero) {
  Histogram histogram;
  histogram.add(Duration(-5));
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.percentile_us(1), 0);
}

TEST(Histogram, AnEmptyOneIsZero) {
  EXPECT_EQ(Histogram().percentile_us(0.99), 0);
  EXPECT_EQ(Histogram().mean_us(), 0);
}

TEST(Histogram, GoesThroughJsonAndAddsUp) {
  Histogram one;
  Histogram other;
  for (int i = 1; i <= 1000; ++i) (i % 2 == 0 ? one : other).add(std::chrono::microseconds(i));
  Histogram sum = Histogram::from_json(nlohmann::json::parse(one.to_json().dump()));
  sum.add(Histogram::from_json(other.to_json()));
  EXPECT_EQ(sum.count(), 1000U);
  EXPECT_DOUBLE_EQ(sum.mean_us(), 500.5);
  EXPECT_NEAR(sum.percentile_us(0.5), 500, 5);
  EXPECT_EQ(sum.max(), std::chrono::microseconds(1000));
}

TEST(Spread, IsTheMedianAndTheEnds) {
  EXPECT_EQ(spread({3, 1, 2}).dump(), R"({"median":2.0,"low":1.0,"high":3.0})");
  EXPECT_EQ(spread({4, 1}).at("median"), 2.5);
  EXPECT_EQ(spread({7}).dump(), R"({"median":7.0,"low":7.0,"high":7.0})");
}

}  // namespace
}  // namespace lockset::bench
