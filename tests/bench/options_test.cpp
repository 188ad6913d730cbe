#include "benchmarks/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/failure.h"

namespace lockset::bench {
namespace {

using testing::HasSubstr;

std::string failure_of(const std::vector<std::string>& words) {
  try {
    parse_options(words);
  } catch (const tools::Failure& failure) {
    EXPECT_EQ(failure.code(), tools::exit_usage);
    return failure.what();
  }
  return "no failure";
}

TEST(BenchOptions, EverythingIsMeasuredUnlessToldOtherwise) {
  const Options options = parse_options({"memory:"});
  EXPECT_EQ(options.chosen.size(), workloads().size());
  EXPECT_GE(options.plan.repetitions, 5);
  EXPECT_LT(parse_options({"--quick", "memory:"}).plan.repetitions, 5);
}

TEST(BenchOptions, ChooseWorkloadsAndTurns) {
  const Options options = parse_options({"--workload", "crash", "--workload=disjoint",
                                         "--repetitions", "9", "--slice", "20", "memory:"});
  ASSERT_EQ(options.chosen.size(), 2U);
  EXPECT_EQ(options.chosen[1].name, "disjoint");
  EXPECT_EQ(options.plan.repetitions, 9);
  EXPECT_EQ(options.plan.slice, std::chrono::milliseconds(20));
}

TEST(BenchOptions, MistakesAreNamed) {
  EXPECT_THAT(failure_of({}), HasSubstr("no address"));
  EXPECT_THAT(failure_of({"--workload", "disjont", "memory:"}), HasSubstr("mean disjoint?"));
  EXPECT_THAT(failure_of({"--quik", "memory:"}), HasSubstr("--quick"));
  EXPECT_THAT(failure_of({"--repetitions", "0", "memory:"}), HasSubstr("from 1"));
  EXPECT_THAT(failure_of({"--slice", "1s", "memory:"}), HasSubstr("1s"));
  EXPECT_THAT(failure_of({"--urls", "/nowhere", "memory:"}), HasSubstr("/nowhere"));
}

}  // namespace
}  // namespace lockset::bench
