// What the processes of chaos record of a store that is not fit.
#include "tests/chaos/recorded_locks.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// Refuses conversions with this error, if it is set.
class Refusing final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  std::optional<Errc> with;

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (with && request.replaces != nullptr) return Error{*with, "no"};
    return inner().try_acquire(request);
  }
};

template <class What>
std::size_t count(const test::Recorder& recorder) {
  std::size_t found = 0;
  for (const history::Event& event : recorder.log().events) {
    found += std::holds_alternative<What>(event.what) ? 1 : 0;
  }
  return found;
}

// The hold stands as before, so its valid() is true: "unknown" would call that a fault.
TEST(RecordedLocks, AConversionThatAnUnfitStoreRefusesIsNotInDoubt) {
  const auto store = std::make_shared<Refusing>(
      std::shared_ptr<Backend>(make_memory_backend(make_memory_store())));
  const auto recorder = std::make_shared<test::Recorder>("p");
  RecordedLocks::Options options{.url = {}, .app = "app", .lease = 1min, .unfit = true};
  RecordedLocks locks(
      open(std::make_unique<ForwardingBackend>(store), {.app = "app", .lease = 1min}).value(),
      options, recorder);
  bool trouble = false;
  const auto hold = locks.acquire({.set = {write("a")}}, trouble);
  ASSERT_TRUE(hold);
  store->with = Errc::misconfigured;
  EXPECT_FALSE(hold->convert(Mode::read, trouble));
  EXPECT_TRUE(trouble);
  EXPECT_TRUE(hold->valid());
  EXPECT_EQ(count<history::Refused>(*recorder), 1U);
  EXPECT_EQ(count<history::Unknown>(*recorder), 0U);

  store->with = Errc::indeterminate;
  EXPECT_FALSE(hold->convert(Mode::read, trouble));
  EXPECT_FALSE(hold->valid());
  EXPECT_EQ(count<history::Unknown>(*recorder), 1U);
}

}  // namespace
}  // namespace lockset::chaos
