#include "tests/mutants/crash.h"

#include <gtest/gtest.h>

#include <iostream>

#include "tests/support/client.h"
#include "tests/support/recording_backend.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

void ask_for_all(const Connect& connect, const std::shared_ptr<test::Recorder>& recorder) {
  test::Client client(std::make_shared<test::RecordingBackend>(connect(), recorder),
                      recorder->process());
  for (std::size_t i = 0; i < names_before_the_crash; ++i) {
    // Any answer is recorded.
    (void)client.ask({write("n" + std::to_string(i))}, {.lease = 60s});
  }
}

}  // namespace

history::Report crash(const Connect& connect, const std::function<void()>& misfortune) {
  const auto before = std::make_shared<test::Recorder>("before");
  const auto after = std::make_shared<test::Recorder>("after");
  test::Recorder trouble("trouble");
  ask_for_all(connect, before);
  trouble.record(history::FaultBegin{"misfortune"});
  misfortune();
  trouble.record(history::FaultEnd{"misfortune"});
  ask_for_all(connect, after);
  history::Rules rules = strict_rules();
  rules.least = {.grants = names_before_the_crash, .overlaps = 1, .busy = 0, .faults = 1};
  return history::check({before->log(), after->log(), trouble.log()}, rules).value();
}

void expect_granted_twice(const std::function<history::Report()>& once) {
  std::size_t lost = 0;
  for (int tries = 0; lost == 0 && tries < 5; ++tries) {
    const history::Report report = once();
    EXPECT_TRUE(report.vacuous.empty());
    lost = report.counts.grants - names_before_the_crash;
    EXPECT_EQ(report.found_of(Invariant::exclusion), lost);
    std::cout << "  " << lost << " of " << names_before_the_crash << " grants were lost, "
              << report.found_of(Invariant::fencing) << " violations of I2\n";
  }
  EXPECT_GT(lost, 0U);
}

void expect_nothing_lost(const history::Report& report) {
  for (const history::Violation& each : report.violations) {
    ADD_FAILURE() << to_string(each.invariant) << ": " << each.story;
  }
  for (const std::string& each : report.vacuous) ADD_FAILURE() << each;
  EXPECT_EQ(report.counts.grants, names_before_the_crash);
  EXPECT_EQ(report.counts.busy + report.counts.refused, names_before_the_crash);
}

}  // namespace lockset::mutants
