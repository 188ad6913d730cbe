// Without this test, nobody would notice a backend without a harness, which no test covers.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lockset/registry.h"
#include "tests/conformance/harness.h"

namespace lockset::conformance {
namespace {

TEST(Completeness, EverySchemeHasAHarness) {
  for (const Scheme& scheme : builtin_schemes()) {
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

TEST(Completeness, HarnessNamesAreDistinct) {
  std::set<std::string> names;
  for (const Harness* harness : all_harnesses()) {
    EXPECT_TRUE(names.insert(harness->name()).second) << harness->name();
  }
}

}  // namespace
}  // namespace lockset::conformance
