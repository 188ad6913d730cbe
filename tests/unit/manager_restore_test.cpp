// Locks that live while their store is wiped, or restored from a backup.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <stop_token>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// The store, which can be exchanged under its clients.
class Place {
 public:
  [[nodiscard]] std::shared_ptr<MemoryStore> store() {
    const std::lock_guard lock(mutex_);
    return store_;
  }
  void restore(std::shared_ptr<MemoryStore> store) {
    const std::lock_guard lock(mutex_);
    store_ = std::move(store);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<MemoryStore> store_ = make_memory_store();
};

class ThroughPlace final : public ForwardingBackend {
 public:
  explicit ThroughPlace(Place& place)
      : ForwardingBackend(make_memory_backend(place.store())), place_(place) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    return make_memory_backend(place_.store())->try_acquire(request);
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    return make_memory_backend(place_.store())->renew(owner, requests, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return make_memory_backend(place_.store())->release(hold, app, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    return make_memory_backend(place_.store())->load_config(by);
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override {
    return make_memory_backend(place_.store())->reclaim(app, epoch, by);
  }

 private:
  Place& place_;
};

class ManagerRestoreTest : public ::testing::Test {
 protected:
  Locks open_locks(Options options) {
    options.app = "svc";
    return open(std::make_unique<ThroughPlace>(place_), std::move(options)).value();
  }
  Locks open_reclaiming() { return open_locks({.reclaim = true, .refresh_config = 1h}); }

  Place place_;
};

// SEM 8, 20: a store that was wiped grants what it has forgotten, with greater stamps
TEST_F(ManagerRestoreTest, AWipedStoreIsGoneOnWith) {
  Locks locks = open_locks({});
  locks.set_permits("a", Mode::read, 5).value();
  const Hold before = locks.acquire({read("a")}).value();
  place_.restore(make_memory_store());
  const Hold after = locks.acquire({read("a")}, {.wait = 0s}).value();
  EXPECT_TRUE(after.valid());
  EXPECT_GT(after.stamp(), before.stamp());
  EXPECT_FALSE(locks.try_acquire({read("a")}).value()) << "went by permits that were forgotten";
}

// SEM 12, 20: its hold on the application is forgotten, so that another instance may take over at
// any moment, and end grants of this one that it would still call valid
TEST_F(ManagerRestoreTest, AnInstanceThatTheStoreHasForgottenTakesNothingInIt) {
  Locks locks = open_reclaiming();
  const Hold before = locks.acquire({write("a")}).value();
  place_.restore(make_memory_store());
  const auto refused = locks.try_acquire({write("b")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::rolled_back);
  EXPECT_THAT(refused.error().message, HasSubstr("open the space again"));
  EXPECT_FALSE(before.valid());
  EXPECT_EQ(before.lost_reason(), LostReason::app_lost);
  EXPECT_TRUE(make_memory_backend(place_.store())->inspect({}, {}).value().holds.empty());
  // A program that opens it again continues.
  Locks again = open_reclaiming();
  EXPECT_TRUE(again.acquire({write("b")}, {.wait = 0s}).value().valid());
}

// The backup is older than the instance, and contains an earlier one.
TEST_F(ManagerRestoreTest, NorInABackupThatIsOlderThanItself) {
  { const Locks older = open_reclaiming(); }
  const std::shared_ptr<MemoryStore> backup = copy_memory_store(*place_.store());
  Locks locks = open_reclaiming();
  const Hold before = locks.acquire({write("a")}).value();
  place_.restore(backup);
  EXPECT_EQ(locks.try_acquire({write("b")}).error().code, Errc::rolled_back);
  EXPECT_FALSE(before.valid());
}

// The backup contains the instance: it continues.
TEST_F(ManagerRestoreTest, ButInOneThatKnowsIt) {
  Locks locks = open_reclaiming();
  const std::shared_ptr<MemoryStore> backup = copy_memory_store(*place_.store());
  const Hold before = locks.acquire({write("a")}).value();
  place_.restore(backup);
  EXPECT_TRUE(locks.acquire({write("b")}, {.wait = 0s}).value().valid());
  EXPECT_TRUE(before.valid());
}

// The configuration shows it, before anything is asked for.
TEST_F(ManagerRestoreTest, TheHoldersAreToldAtTheNextLook) {
  Locks locks = open_locks({.reclaim = true, .lease = 60s, .refresh_config = 20ms});
  Hold hold = locks.acquire({write("a")}).value();
  std::stop_source told;
  const std::stop_callback lost(hold.lost(), [&] { told.request_stop(); });
  place_.restore(make_memory_store());
  // A third of the lease is 20 s.
  EXPECT_TRUE(test::eventually([&] { return told.stop_requested(); }, 15s));
  EXPECT_EQ(hold.lost_reason(), LostReason::app_lost);
}

}  // namespace
}  // namespace lockset
