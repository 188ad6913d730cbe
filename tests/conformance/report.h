// The results of the tests, per harness: collected while they run, shown as one table at the end.
#pragma once

#include <gtest/gtest.h>

#include <iosfwd>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lockset::conformance {

struct Tally {
  std::size_t ran = 0;  // without skipped tests
  std::size_t failed = 0;
  std::map<std::string, std::size_t> skipped;  // by reason
};

class Report final : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& info) override;

  [[nodiscard]] const std::map<std::string, Tally>& tallies() const noexcept { return tallies_; }
  // "Suite.Test" of the failed tests, without the names of the instance and the harness.
  [[nodiscard]] const std::set<std::string>& failed() const noexcept { return failed_; }
  void print(std::ostream& out) const;

 private:
  std::map<std::string, Tally> tallies_;
  std::set<std::string> failed_;
};

// Records why the running test is skipped, until the next call.
void record_skip(std::string why);
std::string take_skip();

}  // namespace lockset::conformance
