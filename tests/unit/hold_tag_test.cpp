#include "backends/migrate/hold_tag.h"

#include <gtest/gtest.h>

namespace lockset::migrate {
namespace {

using Phase = MigrationPhase;

constexpr Phase tagged_phases[] = {Phase::old_only, Phase::shadow, Phase::dual_old, Phase::dual_new,
                                   Phase::new_only};

TEST(HoldTag, ComesBackAsItWasWritten) {
  for (const Phase phase : tagged_phases) {
    for (const std::int64_t stamp :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{17'000'000'000'000'001}, INT64_MAX}) {
      const std::uint32_t migration = phase == Phase::old_only ? 0
                                      : phase == Phase::shadow ? UINT32_MAX
                                                               : 0x1a2b;
      const HoldTag tag{phase, Stamp{stamp}, migration};
      for (const char* const instance : {"3f09-0.1.0", "3f09", "a+b-1.0", "3f09-0.1.0+2.5", ""}) {
        const std::string whole = tagged(instance, tag);
        EXPECT_TRUE(whole.starts_with(instance)) << whole;
        const std::optional<HoldTag> read = tag_of(whole);
        ASSERT_TRUE(read) << whole;
        EXPECT_EQ(*read, tag) << whole;
      }
    }
  }
}

// Other versions read it, so the format must not change.
TEST(HoldTag, IsWrittenAsItAlwaysWas) {
  EXPECT_EQ(tagged("3f09-0.1.0", {Phase::old_only, {}, 0}), "3f09-0.1.0+0");
  EXPECT_EQ(tagged("3f09-0.1.0", {Phase::shadow, Stamp{12}, 10}), "3f09-0.1.0+1:a.12");
  EXPECT_EQ(tagged("3f09-0.1.0", {Phase::dual_old, {}, 0x12345678}), "3f09-0.1.0+2:12345678");
  EXPECT_EQ(tagged("3f09-0.1.0", {Phase::dual_new, Stamp{17}, 1}), "3f09-0.1.0+3:1.17");
  EXPECT_EQ(tagged("3f09-0.1.0", {Phase::new_only, {}, 1}), "3f09-0.1.0+4:1");
}

TEST(HoldTag, OfAnotherMigrationSaysNothing) {
  EXPECT_EQ(tag_of("3f09-0.1.0+4:a", 10)->phase, Phase::new_only);
  EXPECT_FALSE(tag_of("3f09-0.1.0+4:a", 11));
  EXPECT_FALSE(tag_of("3f09-0.1.0+4", 11));
  EXPECT_FALSE(tag_of("3f09-0.1.0+4:a", 0));
  EXPECT_EQ(tag_of("3f09-0.1.0+0", 11)->phase, Phase::old_only);
  EXPECT_EQ(without_tag("3f09-0.1.0+4:a"), "3f09-0.1.0");
  EXPECT_EQ(without_tag("3f09-0.1.0"), "3f09-0.1.0");
}

TEST(HoldTag, IsNotFoundInWhatHasNone) {
  for (const char* const instance : {"",
                                     "3f09",
                                     "3f09-0.1.0",
                                     "+",
                                     "x+",
                                     "x+5",
                                     "x+9",
                                     "x+a",
                                     "x+-1",
                                     "x+3x",
                                     "x+33",
                                     "x+3.",
                                     "x+3.x",
                                     "x+3.1x",
                                     "x+3.1.2",
                                     "x+3:",
                                     "x+3:0",
                                     "x+3:g",
                                     "x+3:100000000",
                                     "x+3:1:2",
                                     "x+3.1:2",
                                     "x+3.-1",
                                     "x+3. 1",
                                     "x+3 ",
                                     "x+3.9223372036854775808",
                                     "x+3,1",
                                     "x+3+"}) {
    EXPECT_FALSE(tag_of(instance)) << instance;
  }
}

TEST(HoldTag, TheVersionIsFoundWithAndWithoutIt) {
  EXPECT_EQ(version_of("3f09-0.1.0"), "0.1.0");
  EXPECT_EQ(version_of("3f09-0.1.0+0"), "0.1.0");
  EXPECT_EQ(version_of("3f09-0.1.0+3.17"), "0.1.0");
  EXPECT_EQ(version_of("3f09-0.2.0-rc1+2"), "0.2.0-rc1");
  EXPECT_EQ(version_of("3f09"), "") << "versions before say nothing";
  EXPECT_EQ(version_of("3f09+2"), "");
  EXPECT_EQ(version_of(""), "");
}

}  // namespace
}  // namespace lockset::migrate
