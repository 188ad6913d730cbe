#include "tests/support/requirement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>

#include "tests/support/private_server.h"

namespace lockset::test {

bool required(std::string_view name) {
  const char* text = std::getenv("LOCKSET_TEST_REQUIRE");
  std::string_view list = text == nullptr ? "" : text;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == name || one == "all") return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

namespace {

// Both prevent the test's body from running.
void skip(const std::string& why) { GTEST_SKIP() << why; }
void fail(const std::string& why) { FAIL() << why; }

}  // namespace

bool have_server(const std::string& kind) {
  static std::map<std::string, std::optional<std::string>> known;
  const auto [why, is_new] = known.try_emplace(kind);
  if (is_new) why->second = PrivateServer::unavailable(kind);
  if (!why->second) return true;
  if (required(kind)) {
    fail(kind + " is required: " + *why->second);
  } else {
    skip(*why->second);
  }
  return false;
}

int run_tests(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const bool failed = RUN_ALL_TESTS() != 0;
  const testing::UnitTest& run = *testing::UnitTest::GetInstance();
  if (failed || testing::GTEST_FLAG(list_tests)) return failed ? 1 : 0;
  if (run.test_to_run_count() == 0) {
    std::cout << "no test matches the filter\n";
    return 1;
  }
  return run.skipped_test_count() == run.test_to_run_count() ? 77 : 0;
}

}  // namespace lockset::test
