// The memory backend on an unusual clock: versions and stamps by a calendar of the test, and a
// space that is a copy of another.
#include <gtest/gtest.h>

#include <chrono>

#include "lockset/memory_backend.h"
#include "lockset/space_config.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

class Calendar final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override { return TimePoint(1h); }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override {
    return std::chrono::system_clock::time_point(std::chrono::microseconds(us));
  }
  std::int64_t us = 1'000'000;
};

constexpr SetPermits shared_names() { return {"*", Mode::read, 5}; }

Grant take(Backend& store, const char* name, std::int64_t version) {
  const LockSet set = LockSet::make({write(name)}).value();
  const std::uint32_t permits[] = {1};
  const Owner owner{"app", "instance", 0, "label"};
  AcquireRequest request;
  request.set = &set;
  request.permits = permits;
  request.config_version = version;
  request.token.bytes[0] = static_cast<std::uint8_t>(name[0]);
  request.owner = &owner;
  request.lease = 30s;
  return std::get<Grant>(store.try_acquire(request).value());
}

// SEM 7
TEST(MemoryStore, VersionsFollowTheCalendarAndNeverGoBack) {
  Calendar calendar;
  const auto store = make_memory_backend(make_memory_store(calendar));
  const auto change = [&] { return store->change_config(shared_names(), {}).value().version; };
  EXPECT_EQ(change(), 1'000'000);
  EXPECT_EQ(change(), 1'000'001);
  calendar.us = 5;
  EXPECT_EQ(change(), 1'000'002);
  calendar.us = 2'000'000;
  EXPECT_EQ(change(), 2'000'000);

  const Grant app = take(*store, "a", 2'000'000);
  calendar.us = 3'000'000;
  ASSERT_TRUE(store->reclaim("app", app.stamp.value, {}));
  EXPECT_EQ(store->load_config({}).value().version, 3'000'000);
}

// SEM 7: the version of a change that a restore undid does not come again.
TEST(MemoryStore, AVersionDoesNotComeAgainInACopy) {
  Calendar calendar;
  const auto original = make_memory_store(calendar);
  const auto copied = copy_memory_store(*original, calendar);
  const auto before = make_memory_backend(original);
  const auto after = make_memory_backend(copied);
  const std::int64_t undone = before->change_config(SetPermits{"a", Mode::read, 9}, {})->version;
  calendar.us += 1;
  EXPECT_GT(after->change_config(SetPermits{"a", Mode::read, 1}, {})->version, undone);
}

TEST(MemoryStore, ACopyIsAsTheOriginalWasAndASpaceOfItsOwn) {
  Calendar calendar;
  const auto original = make_memory_store(calendar);
  const auto before = make_memory_backend(original);
  const std::int64_t version = before->change_config(shared_names(), {})->version;
  const Grant a = take(*before, "a", version);
  const auto after = make_memory_backend(copy_memory_store(*original, calendar));
  EXPECT_EQ(after->load_config({}).value(), before->load_config({}).value());

  EXPECT_TRUE(before->release(a.stamp, "app", {}).value());
  const Inspection left = after->inspect({}, {}).value();
  ASSERT_EQ(left.holds.size(), 1U);
  EXPECT_EQ(left.holds.front().stamp, a.stamp);
  EXPECT_EQ(left.holds.front().remaining, 30s);
  EXPECT_GT(take(*after, "b", version).stamp, a.stamp);
  EXPECT_TRUE(after->release(a.stamp, "app", {}).value());
}

}  // namespace
}  // namespace lockset
