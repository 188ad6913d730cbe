// Renewals continue while the store answers housekeeping slowly.
#include <gtest/gtest.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;

// Reached only if something is broken.
constexpr Duration patience = 30s;

// A gate that blocks background calls of one kind while it is shut.
class Gate {
 public:
  void shut() {
    const std::lock_guard lock(mutex_);
    open_ = false;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  bool wait_for_someone() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return came_ > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = true;
  int came_ = 0;
};

struct Gates {
  Gate release;
  Gate load_config;
  std::thread::id caller = std::this_thread::get_id();
};

// The program's own releases fail, and so do their repetitions: a chore is left.
class SlowBackend final : public ForwardingBackend {
 public:
  SlowBackend(std::shared_ptr<Backend> inner, std::shared_ptr<Gates> gates)
      : ForwardingBackend(std::move(inner)), gates_(std::move(gates)) {}

  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    if (std::this_thread::get_id() == gates_->caller) return Error{Errc::unavailable, "slow"};
    gates_->release.pass();
    return ForwardingBackend::release(hold, app, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    if (std::this_thread::get_id() != gates_->caller) gates_->load_config.pass();
    return ForwardingBackend::load_config(by);
  }

 private:
  std::shared_ptr<Gates> gates_;
};

class Renewals final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    if (event.kind == Event::Kind::renewed) ++renewed_[event.stamp];
    if (event.kind == Event::Kind::lost) lost_ = true;
    changed_.notify_all();
  }
  // Whether `stamp` is renewed twice from now on, before anything is lost.
  bool go_on(Stamp stamp) {
    std::unique_lock lock(mutex_);
    const int before = renewed_[stamp];
    const auto twice = [&] { return renewed_[stamp] >= before + 2; };
    return changed_.wait_for(lock, patience, [&] { return lost_ || twice(); }) && !lost_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Stamp, int> renewed_;
  bool lost_ = false;
};

class Housekeeping : public ::testing::Test {
 protected:
  Locks open_locks(Options options) {
    options.app = "app";
    options.lease = 3s;
    options.observer = renewals_;
    std::shared_ptr<Backend> inner = make_memory_backend(make_memory_store());
    return open(std::make_unique<SlowBackend>(std::move(inner), gates_), std::move(options))
        .value();
  }

  std::shared_ptr<Gates> gates_ = std::make_shared<Gates>();
  std::shared_ptr<Renewals> renewals_ = std::make_shared<Renewals>();
};

// SEM 10: a release that was not confirmed is repeated, and hangs
TEST_F(Housekeeping, ASlowChoreKeepsNoRenewalWaiting) {
  Locks locks = open_locks({.io_timeout = 100ms});
  const Hold precious = locks.acquire({write("precious")}).value();
  Hold other = locks.acquire({write("other")}).value();
  gates_->release.shut();
  EXPECT_EQ(other.release().error().code, Errc::unavailable);
  ASSERT_TRUE(gates_->release.wait_for_someone());
  EXPECT_TRUE(renewals_->go_on(precious.stamp()));
  EXPECT_TRUE(precious.valid());
  gates_->release.open();
}

// SEM 10: so does reading the configuration
TEST_F(Housekeeping, ASlowRefreshKeepsNoRenewalWaiting) {
  Locks locks = open_locks({.io_timeout = 100ms, .refresh_config = 20ms});
  gates_->load_config.shut();
  const Hold precious = locks.acquire({write("precious")}).value();
  ASSERT_TRUE(gates_->load_config.wait_for_someone());
  EXPECT_TRUE(renewals_->go_on(precious.stamp()));
  EXPECT_TRUE(precious.valid());
  gates_->load_config.open();
}

}  // namespace
}  // namespace lockset
