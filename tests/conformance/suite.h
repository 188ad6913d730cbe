// The fixture of all conformance tests: a new space for each test of each harness.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "lockset/lockset.h"
#include "tests/conformance/harness.h"
#include "tests/support/client.h"
#include "tests/support/threads.h"
#include "tests/support/wait.h"

namespace lockset::conformance {

using namespace std::chrono_literals;
using test::Ask;
using test::Client;
using test::eventually;
using test::linger;
using test::make_set;
using test::patience;
using test::pause_after_try;
using test::Progress;
using test::run_threads;
using test::soon;
using test::sorted;
using test::Stopwatch;
using test::Wanted;

// How much a store's clock may round off a lease: the slack of exact lower bounds.
inline constexpr Duration clock_grain = 2ms;

class Conformance : public testing::TestWithParam<Harness*> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Harness& harness() const { return *GetParam(); }
  // Made at its first use, so that a test that is skipped makes none. Thread-safe.
  [[nodiscard]] Space& space();
  // How many rounds threads contend: with a server each round costs several milliseconds of
  // processor time, and threads are slow enough to meet.
  [[nodiscard]] int rounds(int alone, int with_server) const {
    return harness().harness_traits().has_server ? with_server : alone;
  }
  // A client that lives as long as the test. Not thread-safe.
  [[nodiscard]] std::shared_ptr<Backend> backend();
  // Another one.
  [[nodiscard]] std::shared_ptr<Backend> open();
  [[nodiscard]] Client client(std::string app = "app", std::int64_t epoch = 0);
  // Asked once per harness.
  [[nodiscard]] const Traits& traits();
  // A manager over a separate client.
  [[nodiscard]] Locks locks(Options options = {});

 private:
  std::mutex making_;
  std::unique_ptr<Space> space_;
  std::shared_ptr<Backend> backend_;
};

// True unless `trait`; then the test is marked as skipped, with the reason on record:
//   if (skip_unless(traits().floors, "floors")) return;
// This is the only way to skip a test.
[[nodiscard]] bool skip_unless(bool trait, std::string_view why);

// Waits until the leases of these grants, which are answered already, have ended. Inspection alone
// does not show that: a hold in two stores is not shown any more once it has ended in one of them,
// but blocks until it has ended in the other. False: inspection still shows it after that.
bool expired(Client& client, std::initializer_list<Grant> grants);

// Answers that a call may give while its server fails.
inline bool is_trouble(const Error& error) { return error.retryable() || error.may_have_applied(); }

// The error of a call that has to fail. Throws if it succeeded.
template <class T>
Error refusal_of(const Result<T>& result) {
  if (result) throw std::runtime_error("expected an error, got success");
  return result.error();
}
template <class T>
Errc code_of(const Result<T>& result) {
  return refusal_of(result).code;
}

// `items` for messages and comparisons: "r:a w:b".
std::string describe(const Wanted& items);

std::string name_of(const testing::TestParamInfo<Harness*>& info);

}  // namespace lockset::conformance

// Every suite is instantiated once, over the harnesses of the executable that contains it.
#define LOCKSET_CONFORMANCE_SUITE(suite) \
  INSTANTIATE_TEST_SUITE_P(              \
      Each, suite, testing::ValuesIn(all_harnesses().begin(), all_harnesses().end()), name_of)
