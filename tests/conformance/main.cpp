// Runs the suite over all harnesses, prints the table, and compares the counts. Exit: 0 passed, 1
// failed, 77 if every selected test lacked its store.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/conformance/counts.h"
#include "tests/conformance/report.h"

namespace {

constexpr int exit_skipped = 77;  // SKIP_RETURN_CODE of the ctest entries

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  auto* report = new lockset::conformance::Report;  // owned by GoogleTest
  testing::UnitTest& run = *testing::UnitTest::GetInstance();
  run.listeners().Append(report);
  const bool failed = RUN_ALL_TESTS() != 0;
  if (testing::GTEST_FLAG(list_tests)) return failed ? 1 : 0;

  report->print(std::cout);
  std::vector<std::string> mismatches;
  if (run.total_test_count() > 0 && testing::GTEST_FLAG(repeat) == 1) {
    mismatches = lockset::conformance::count_mismatches(*report, testing::GTEST_FLAG(filter),
                                                        LOCKSET_EXPECTED_COUNTS);
  }
  for (const std::string& mismatch : mismatches) std::cout << "COUNT: " << mismatch << "\n";
  if (run.test_to_run_count() == 0) {
    std::cout << "no test matches the filter\n";
    return 1;
  }
  if (failed || !mismatches.empty()) return 1;
  return run.skipped_test_count() == run.test_to_run_count() ? exit_skipped : 0;
}
