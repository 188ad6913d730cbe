#include "tests/conformance/report.h"

#include <iomanip>
#include <ostream>
#include <utility>

namespace lockset::conformance {

namespace {

std::string& skip_reason() {
  static std::string reason;
  return reason;
}

}  // namespace

void record_skip(std::string why) { skip_reason() = std::move(why); }
std::string take_skip() { return std::exchange(skip_reason(), {}); }

void Report::OnTestEnd(const testing::TestInfo& info) {
  // "Each/Suite" and "Test/harness"; any other name is not a test of a harness.
  const std::string suite = info.test_suite_name();
  const std::string test = info.name();
  const std::size_t suite_at = suite.find('/');
  const std::size_t harness_at = test.rfind('/');
  const bool of_harness = suite_at != std::string::npos && harness_at != std::string::npos;
  Tally& tally = tallies_[of_harness ? test.substr(harness_at + 1) : "(none)"];
  const std::string why = take_skip();
  if (info.result()->Failed()) {
    failed_.insert(of_harness ? suite.substr(suite_at + 1) + "." + test.substr(0, harness_at)
                              : suite + "." + test);
    ++tally.failed;
    ++tally.ran;
  } else if (info.result()->Skipped()) {
    // A skip without a recorded reason would go unnoticed: the table shows it as such.
    ++tally.skipped[why.empty() ? "WITHOUT A REASON" : why];
  } else {
    ++tally.ran;
  }
}

void Report::print(std::ostream& out) const {
  out << "\n"
      << std::left << std::setw(16) << "harness" << std::right << std::setw(8) << "ran"
      << std::setw(8) << "failed" << std::setw(9) << "skipped"
      << "  because it lacks\n";
  for (const auto& [name, tally] : tallies_) {
    std::size_t skipped = 0;
    std::string why;
    for (const auto& [reason, count] : tally.skipped) {
      skipped += count;
      why += (why.empty() ? "" : ", ") + reason + " (" + std::to_string(count) + ")";
    }
    out << std::left << std::setw(16) << name << std::right << std::setw(8) << tally.ran
        << std::setw(8) << tally.failed << std::setw(9) << skipped << "  " << why << "\n";
  }
}

}  // namespace lockset::conformance
