#include "tools/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Words = std::vector<std::string>;

GivenOptions parse(const Words& words, bool has_operands = false) {
  return GivenOptions("program --help", {"help,h", "seed=", "file=*", "move=..."}, words,
                      has_operands);
}

template <class Function>
std::string failure_of(const Function& function) {
  try {
    function();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), exit_usage);
    return failure.what();
  }
  return "no failure";
}

std::string refusal(const Words& words) {
  return failure_of([&] { parse(words); });
}

TEST(GivenOptions, HoldWhatWasGiven) {
  const GivenOptions given =
      parse({"-h", "--file", "a", "--seed=7", "--move", "x", "y", "--file=b"});
  EXPECT_TRUE(given.has("help"));
  EXPECT_EQ(*given.text("seed"), "7");
  EXPECT_THAT(given.texts("file"), ElementsAre("a", "b"));
  EXPECT_THAT(given.texts("move"), ElementsAre("x", "y"));
}

TEST(GivenOptions, HoldNothingElse) {
  const GivenOptions given = parse({});
  EXPECT_FALSE(given.has("help"));
  EXPECT_EQ(given.text("seed"), nullptr);
  EXPECT_EQ(given.number("seed"), std::nullopt);
  EXPECT_THAT(given.texts("file"), IsEmpty());
  EXPECT_THAT(given.operands(), IsEmpty());
}

TEST(GivenOptions, OperandsMayStandAnywhereIfThereAreAny) {
  EXPECT_THAT(parse({"a", "--seed", "1", "b", "--", "--c"}, true).operands(),
              ElementsAre("a", "b", "--c"));
  EXPECT_THAT(refusal({"--seed", "1", "b"}), HasSubstr("too many positional"));
}

TEST(GivenOptions, ATypoIsToldTheNearestOption) {
  EXPECT_EQ(refusal({"--sede", "1"}),
            "there is no option \"--sede\"; did you mean --seed?; see program --help");
  EXPECT_THAT(refusal({"--hlep"}), HasSubstr("mean --help?"));
  EXPECT_EQ(refusal({"--other"}), "there is no option \"--other\"; see program --help");
}

TEST(GivenOptions, AbbreviationsAreRefused) {
  EXPECT_THAT(refusal({"--see", "1"}), HasSubstr("no option \"--see\""));
}

TEST(GivenOptions, MissingAndSecondValuesAreRefused) {
  EXPECT_THAT(refusal({"--seed"}), HasSubstr("'--seed' is missing"));
  EXPECT_THAT(refusal({"--seed="}), HasSubstr("'--seed' should follow"));
  EXPECT_THAT(refusal({"--seed", "1", "--seed", "2"}), HasSubstr("more than once"));
  EXPECT_THAT(refusal({"--help=1"}), HasSubstr("--help"));
}

TEST(GivenOptions, NumbersHaveLimits) {
  EXPECT_EQ(parse({"--seed", "2"}).number("seed", 2, 9), 2U);
  EXPECT_EQ(parse({"--seed", "9"}).number("seed", 2, 9), 9U);
  EXPECT_EQ(parse({"--seed", "18446744073709551615"}).number("seed"), 18446744073709551615U);
  for (const std::string text : {"1", "10", "-3", "+3", "3x", " 3", "x", "99999999999999999999"}) {
    EXPECT_EQ(failure_of([&] { (void)parse({"--seed=" + text}).number("seed", 2, 9); }),
              "--seed takes a number from 2 to 9, not \"" + text + "\"; see program --help");
  }
}

}  // namespace
}  // namespace lockset::tools
