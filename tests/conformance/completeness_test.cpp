// Without these tests, nobody would notice a backend without a harness, or a harness that no run of
// CTest covers.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "lockset/registry.h"
#include "tests/conformance/harness.h"

namespace lockset::conformance {
namespace {

TEST(Completeness, EverySchemeHasAHarness) {
  for (const Scheme& scheme : builtin_schemes()) {
    // "redis+sentinel": the same store, found in another way. tests/redis/ has what is different.
    if (scheme.name.find('+') != std::string_view::npos) continue;
    const bool found = std::ranges::any_of(
        all_harnesses(), [&](const Harness* one) { return one->scheme() == scheme.name; });
    EXPECT_TRUE(found) << "no harness opens \"" << scheme.name
                       << ":\"; add one to tests/conformance/harnesses.cpp";
  }
}

TEST(Completeness, EveryHarnessHasAScheme) {
  for (const Harness* harness : all_harnesses()) {
    const bool found = std::ranges::any_of(
        builtin_schemes(), [&](const Scheme& one) { return one.name == harness->scheme(); });
    EXPECT_TRUE(found) << harness->name() << " is a harness of no built-in scheme";
  }
}

TEST(Completeness, EveryHarnessHasAnEntryOfCTest) {
  std::istringstream words(LOCKSET_CTEST_ENTRIES);
  const std::set<std::string> entries(std::istream_iterator<std::string>(words), {});
  for (const Harness* harness : all_harnesses()) {
    EXPECT_TRUE(entries.contains("conformance." + harness->name()))
        << "no run of CTest tests " << harness->name() << "; add lockset_conformance_entry("
        << harness->name() << ") to tests/conformance/CMakeLists.txt";
  }
}

// The entries' filters are "*/HARNESS" and "Completeness.*".
TEST(Completeness, EveryTestIsOfAnEntryOfCTest) {
  std::set<std::string> harnesses;
  for (const Harness* harness : all_harnesses()) harnesses.insert(harness->name());
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  for (int i = 0; i < run.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *run.GetTestSuite(i);
    if (std::string(suite.name()) == "Completeness") continue;
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const std::string test = suite.GetTestInfo(k)->name();
      EXPECT_TRUE(harnesses.contains(test.substr(test.rfind('/') + 1)))
          << "no run of CTest has " << suite.name() << "." << test;
    }
  }
}

TEST(Completeness, HarnessNamesAreDistinct) {
  std::set<std::string> names;
  for (const Harness* harness : all_harnesses()) {
    EXPECT_TRUE(names.insert(harness->name()).second) << harness->name();
  }
}

}  // namespace
}  // namespace lockset::conformance
