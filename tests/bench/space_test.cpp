#include "benchmarks/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockset::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<Target> good(const std::vector<std::string>& operands) {
  std::vector<std::string> complaints;
  auto result = spaces(operands, complaints);
  EXPECT_THAT(complaints, IsEmpty());
  return result;
}

std::vector<std::string> complaints_of(const std::vector<std::string>& operands, std::size_t left) {
  std::vector<std::string> complaints;
  EXPECT_EQ(spaces(operands, complaints).size(), left);
  return complaints;
}

TEST(Spaces, AreBesideWhatTheAddressNames) {
  EXPECT_EQ(good({"sqlite:/var/locks.db?synchronous=normal"})[0].url.text,
            "sqlite:/var/locks.db-bench?synchronous=normal");
  EXPECT_EQ(good({"sqlite:/var/locks.db"})[0].filled.text, "sqlite:/var/locks.db-bench-full");
  EXPECT_EQ(good({"memory:"})[0].url.text, "memory:");
}

#ifdef LOCKSET_HAS_REDIS
TEST(Spaces, OfAServerHaveNamesOfTheirOwn) {
  EXPECT_EQ(good({"redis://h"})[0].url.text, "redis://h?space=lockset_bench");
  EXPECT_EQ(good({"redis://h?space=jobs&pool=2"})[0].url.text, "redis://h?pool=2&space=jobs_bench");
  EXPECT_EQ(good({"redis://h?pool=2&space=jobs"})[0].filled.text,
            "redis://h?pool=2&space=jobs_bench_full");
}

TEST(Spaces, HaveTheNamesThatTheyAreGiven) {
  const auto two = good({"near=redis://h", "far, slow=redis://other?space=a=b"});
  EXPECT_EQ(two[0].id, "near");
  EXPECT_EQ(two[1].id, "far, slow");
}

TEST(Spaces, OfTheSameKindHaveToBeToldApart) {
  EXPECT_THAT(complaints_of({"redis://a", "redis://b"}, 1), ElementsAre(HasSubstr("NAME=ADDRESS")));
}

TEST(Spaces, NoComplaintShowsAPassword) {
  const auto complaints = complaints_of(
      {"redis://:geheim@h", "redis://:geheim@h", "x=redi://:geheim@h", "redis://:geheim@h?a=%zz"},
      1);
  ASSERT_EQ(complaints.size(), 3U);
  for (const std::string& each : complaints) EXPECT_THAT(each, Not(HasSubstr("geheim")));
}
#endif

TEST(Spaces, AnAddressGivenTwiceIsMeasuredOnce) {
  EXPECT_THAT(complaints_of({"memory:", "memory:"}, 1), ElementsAre(HasSubstr("given twice")));
}

TEST(Spaces, WhatIsNoAddressIsLeftOut) {
  EXPECT_THAT(complaints_of({"memory:", "oracle://h", "nonsense"}, 1),
              ElementsAre(HasSubstr("oracle"), HasSubstr("nonsense")));
}

}  // namespace
}  // namespace lockset::bench
