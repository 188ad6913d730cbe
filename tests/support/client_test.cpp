// The tests' client if holds live in sessions: it asks again, and no faulty store passes because of
// that.
#include "tests/support/client.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"

namespace lockset::test {
namespace {

// Acts as if the session ended under the first of every `every` attempts.
class EndingSessions final : public ForwardingBackend {
 public:
  EndingSessions(std::shared_ptr<Backend> inner, int every)
      : ForwardingBackend(std::move(inner)), every_(every) {}
  [[nodiscard]] Traits traits() const noexcept override {
    Traits traits = ForwardingBackend::traits();
    traits.session_leases = true;
    return traits;
  }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (attempts_++ % every_ == 0) return Error{Errc::unavailable, "the session has ended"};
    return inner().try_acquire(request);
  }

 private:
  const int every_;
  std::atomic<int> attempts_ = 0;
};

void take_twenty(int every) {
  Client client(std::make_shared<EndingSessions>(make_memory_backend(make_memory_store()), every));
  for (int i = 0; i < 20; ++i) client.release(client.take({write("a")}).stamp);
}

TEST(OutlastingSessions, NowAndThenIsNoFault) { take_twenty(10); }

TEST(OutlastingSessions, EveryFirstAttemptIsOne) {
  testing::TestPartResultArray failures;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
    take_twenty(2);
  }
  ASSERT_GT(failures.size(), 0);
  EXPECT_NE(std::string(failures.GetTestPartResult(0).message()).find("too many"),
            std::string::npos);
}

}  // namespace
}  // namespace lockset::test
