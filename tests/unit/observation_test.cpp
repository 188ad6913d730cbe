// The text form of an observation.
#include "lockset/observation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lockset/lock_set.h"

namespace lockset {
namespace {

using Item = Observation::Item;

TEST(Observation, SortsItsItems) {
  const Observation seen = Observation::make({{"b", Stamp{2}}, {"a", Stamp{1}, true}}).value();
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen.items()[0], (Item{"a", Stamp{1}, true}));
  EXPECT_EQ(seen.items()[1], (Item{"b", Stamp{2}, false}));
}

TEST(Observation, RefusesWhatNoSetContains) {
  const auto refused = [](std::vector<Item> items) {
    const Result<Observation> made = Observation::make(std::move(items));
    return !made && made.error().code == Errc::invalid &&
           made.error().message.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{"", Stamp{1}}}));
  EXPECT_TRUE(refused({{"@app:me", Stamp{1}}}));
  EXPECT_TRUE(refused({{"a", Stamp{0}}}));
  EXPECT_TRUE(refused({{"a", Stamp{-1}}}));
  EXPECT_TRUE(refused({{"a", Stamp{1}}, {"a", Stamp{1}}}));
  std::vector<Item> many;
  for (std::size_t i = 0; i <= max_set_size; ++i) many.push_back({std::to_string(i), Stamp{1}});
  EXPECT_TRUE(refused(many));
  many.pop_back();
  EXPECT_FALSE(refused(many));
}

TEST(Observation, IsOneLineOfText) {
  EXPECT_EQ(
      Observation::make({{"invoice/17", Stamp{17}}, {"a", Stamp{1}, true}}).value().to_string(),
      "seen-1,a=1w,invoice%2F17=17");
}

TEST(Observation, ItsTextIsReadAsItWasWritten) {
  std::vector<Item> items;
  std::int64_t stamp = INT64_MAX;
  for (const char* name : {"a", "a,b", "a=1", "100%", "w", "1w", " ", "a b", "\xC3\xA9", "seen-1",
                           "a%2Cb", "-", "~._-", "&?#\"'\\<>|;$`*!(){}[]"}) {
    items.push_back({name, Stamp{stamp--}, stamp % 2 == 0});
  }
  items.push_back({std::string(max_name_bytes, '%'), Stamp{1}});
  const Observation seen = Observation::make(items).value();
  const std::string text = seen.to_string();
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) ||
           std::string("-._~%,=").find(static_cast<char>(c)) != std::string::npos;
  })) << text;
  const Result<Observation> again = Observation::parse(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, seen);
  EXPECT_EQ(again->to_string(), text);
}

TEST(Observation, AnyOtherTextIsRefusedInOneLine) {
  for (const char* text : {"",
                           "seen-1",
                           "seen-1,",
                           "seen-2,a=1",
                           "seen-1a=1",
                           "seen-11,a=1",
                           "a=1",
                           "seen-1,a",
                           "seen-1,a=",
                           "seen-1,a=w",
                           "seen-1,a=1x",
                           "seen-1,a=1ww",
                           "seen-1,a=-1",
                           "seen-1,a=0",
                           "seen-1,a=+1",
                           "seen-1,a= 1",
                           "seen-1,=1",
                           "seen-1,a=1,",
                           "seen-1,,a=1",
                           "seen-1,a=1,a=2",
                           "seen-1,a=1 ",
                           "seen-1,a%=1",
                           "seen-1,a%2=1",
                           "seen-1,a%zz=1",
                           "seen-1,%00=1",
                           "seen-1,%FF=1",
                           "seen-1,@a=1",
                           "seen-1,a=9223372036854775808",
                           "seen-1,a=1\n",
                           " seen-1,a=1",
                           "SEEN-1,a=1"}) {
    SCOPED_TRACE(text);
    const Result<Observation> parsed = Observation::parse(text);
    ASSERT_FALSE(parsed);
    EXPECT_EQ(parsed.error().code, Errc::invalid);
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
    EXPECT_LT(parsed.error().message.size(), 300U);
  }
  EXPECT_LT(Observation::parse(std::string(100'000, 'x')).error().message.size(), 300U);
}

// Every prefix of a text that was cut, and every byte of it changed: an error or another
// observation, never a fault.
TEST(Observation, ADamagedTextIsNoFault) {
  const std::string text =
      Observation::make({{"\xC3\xA9/1", Stamp{17}, true}, {"b", Stamp{18}}}).value().to_string();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const auto cut = Observation::parse(text.substr(0, i))) {
      EXPECT_NE(cut->to_string(), text);
    }
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(byte);
      if (const auto parsed = Observation::parse(damaged)) {
        EXPECT_TRUE(Observation::parse(parsed->to_string()));
      }
    }
  }
}

TEST(Observation, CopiesAreTheSameAndAMovedFromOneIsEmpty) {
  Observation seen = Observation::make({{"a", Stamp{1}}}).value();
  const Observation copy = seen;
  EXPECT_EQ(copy, seen);
  const Observation moved = std::move(seen);
  EXPECT_EQ(copy, moved);
  EXPECT_EQ(seen.size(), 0U);  // NOLINT(bugprone-use-after-move): that is the test
}

}  // namespace
}  // namespace lockset
