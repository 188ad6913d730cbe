// lockset_broken FLAW         runs the suite over a backend with that flaw. Exit: 0 if
//                             all tests made for the flaw failed, or, for "none", if
//                             all passed.
// lockset_broken --list F...  exit 0 if these are the names of all flaws.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "tests/conformance/broken/broken_harness.h"
#include "tests/conformance/broken/flaws.h"
#include "tests/conformance/report.h"

namespace {

using lockset::broken::all_flaws;
using lockset::broken::Flaw;

int check_list(const std::set<std::string>& given) {
  std::set<std::string> known;
  for (const Flaw& flaw : all_flaws()) known.emplace(flaw.name);
  if (given == known) return 0;
  std::cout << "tests/conformance/broken/CMakeLists.txt and flaws.cpp name different flaws\n";
  return 1;
}

std::string filter_of(const Flaw& flaw) {
  // The control: all tests, except those that only the clock makes slow and those that need
  // processes.
  if (flaw.must_fail.empty()) return "-*Validity.*:*Fork.*";
  std::string filter;
  for (const std::string& test : flaw.must_fail) {
    const std::string suite = test.substr(0, test.find('.'));
    filter += (filter.empty() ? "*/" : ":*/") + (flaw.only_these ? test + "/*" : suite + ".*");
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--list") return check_list({argv + 2, argv + argc});
  const auto flaws = all_flaws();
  const auto flaw = std::ranges::find(flaws, name, [](const Flaw& one) { return one.name; });
  if (flaw == flaws.end()) {
    std::cout << "no such flaw: \"" << name << "\"\n";
    return 2;
  }
  lockset::broken::choose_flaw(*flaw);
  testing::InitGoogleTest(&argc, argv);
  testing::GTEST_FLAG(filter) = filter_of(*flaw);
  testing::GTEST_FLAG(brief) = true;
  auto* report = new lockset::conformance::Report;  // owned by GoogleTest
  testing::UnitTest::GetInstance()->listeners().Append(report);
  const bool failed = RUN_ALL_TESTS() != 0;
  report->print(std::cout);

  if (flaw->must_fail.empty()) {
    std::cout << (failed ? "FAILED: the sound backend does not pass\n" : "ok: all passed\n");
    return failed ? 1 : 0;
  }
  bool all_found = failed;
  for (const std::string& test : flaw->must_fail) {
    const bool found = report->failed().contains(test);
    std::cout << (found ? "ok: found by " : "NOT FOUND by ") << test << "\n";
    all_found = all_found && found;
  }
  return all_found ? 0 : 1;
}
