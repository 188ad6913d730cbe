#include "lockset/lock_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset {
namespace {

using ::testing::HasSubstr;

// SEM 3
TEST(LockSet, IsSortedByBytesAndMerged) {
  const LockSet set =
      LockSet::make({write("b"), read("a"), write("b"), read("\xC3\xA9"), read("Z"), read("a ")})
          .value();
  const std::vector<LockRequest> expected{read("Z"), read("a"), read("a "), write("b"),
                                          read("\xC3\xA9")};
  EXPECT_TRUE(std::equal(set.items().begin(), set.items().end(), expected.begin(), expected.end()));
}

// SEM 3
TEST(LockSet, RefusesWhatCannotBeMeant) {
  const auto message_of = [](std::vector<LockRequest> wanted) {
    const Result<LockSet> set = LockSet::make(std::move(wanted));
    EXPECT_FALSE(set);
    EXPECT_EQ(set.error().code, Errc::invalid);
    return set.error().message;
  };
  EXPECT_THAT(message_of({}), HasSubstr("empty lock set"));
  EXPECT_THAT(message_of({read("a"), write("a")}),
              HasSubstr("\"a\" is asked for as read and as write"));
  EXPECT_THAT(message_of({write("*")}), HasSubstr("reserved"));
  EXPECT_THAT(message_of({write("@app:x")}), HasSubstr("reserved"));
  EXPECT_THAT(message_of({write("")}), HasSubstr("empty"));

  std::vector<LockRequest> many;
  for (std::size_t i = 0; i < max_set_size; ++i) many.push_back(write("n" + std::to_string(i)));
  EXPECT_TRUE(LockSet::make(many));
  many.push_back(write("n0"));
  EXPECT_TRUE(LockSet::make(many)) << "duplicates do not count";
  many.push_back(write("one more"));
  EXPECT_THAT(message_of(many), HasSubstr("257 names"));
}

// SEM 2
TEST(CheckName, KnowsValidUtf8) {
  for (const std::string name :
       {"a", " ", "trailing ", "\xC2\xA0", "\xC3\xA9", "e\xCC\x81", "\xE2\x82\xAC", "\xEF\xBB\xBF",
        "\xEF\xBF\xBF", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x9F\x94\x92", "\xF4\x8F\xBF\xBF",
        "\xF0\x90\x80\x80", "%_'\"\\;"}) {
    EXPECT_TRUE(check_name(name)) << in_quotes(name);
  }
  EXPECT_TRUE(check_name(std::string(255, 'x')));
}

// SEM 2
TEST(CheckName, RefusesTheRest) {
  using namespace std::string_literals;
  for (const std::string& name : {""s,
                                  std::string(256, 'x'),
                                  "\0"s,
                                  "a\nb"s,
                                  "\x1F"s,
                                  "\x7F"s,
                                  "\xC2\x80"s,
                                  "\xC2\x9F"s,
                                  "\x80"s,
                                  "\xC0\xAF"s,
                                  "\xC1\xBF"s,
                                  "\xC3"s,
                                  "\xC3("s,
                                  "\xE0\x80\xAF"s,
                                  "\xE2\x82"s,
                                  "\xED\xA0\x80"s,
                                  "\xED\xBF\xBF"s,
                                  "\xF0\x80\x80\xAF"s,
                                  "\xF4\x90\x80\x80"s,
                                  "\xF5\x80\x80\x80"s,
                                  "\xFF"s,
                                  "ok\xFF"s}) {
    const Status status = check_name(name);
    ASSERT_FALSE(status) << in_quotes(name);
    EXPECT_EQ(status.error().code, Errc::invalid);
    EXPECT_EQ(status.error().message.find('\n'), std::string::npos) << "one line";
  }
}

TEST(InQuotes, ShowsWhatTerminalsMustNotSee) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(in_quotes("a\"b\\c"), "\"a\\\"b\\\\c\"");
  EXPECT_EQ(in_quotes("\x1B[2J"), "\"\\x1b[2J\"");
  EXPECT_EQ(in_quotes("\xFF\xC3\xA9"), "\"\\xff\xC3\xA9\"");
  EXPECT_EQ(in_quotes("\xC2\x9B"), "\"\\xc2\\x9b\"");
}

}  // namespace
}  // namespace lockset
