// SEM 10, 12, 20, 31: the core over a store that may have forgotten holds: it registers them again.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "lockset/forwarding_backend.h"
#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using test::eventually;

// Renews nothing while it forgets, and answers registrations as the test says.
class Forgetful final : public ForwardingBackend {
 public:
  using Answer = std::function<Result<ReregisterOutcome>(const ReregisterRequest&)>;
  explicit Forgetful(std::shared_ptr<Backend> inner) : ForwardingBackend(std::move(inner)) {}

  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    {
      const std::lock_guard lock(mutex_);
      if (forgets_) {
        RenewReply reply;
        reply.renewals.resize(requests.size());
        reply.forgotten.assign(requests.size(), true);
        return reply;
      }
    }
    return inner().renew(owner, requests, by);
  }
  Result<ReregisterOutcome> reregister(const Owner& /*owner*/, const ReregisterRequest& request,
                                       TimePoint /*by*/) override {
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      asked_.push_back({request.renewal.hold.stamp,
                        {request.permits.begin(), request.permits.end()},
                        request.config_version});
      answer = answer_;
      if (!answers_.empty()) {
        answer = answers_.front();
        answers_.pop_front();
      }
    }
    return answer(request);
  }

  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    ++releases_;
    return inner().release(hold, app, by);
  }
  [[nodiscard]] int releases() const { return releases_; }

  void forget(Answer answer) {
    const std::lock_guard lock(mutex_);
    forgets_ = true;
    answer_ = std::move(answer);
  }
  // The first answers, before that one.
  void first(Answer answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
  }
  struct Asked {
    Stamp stamp;
    std::vector<std::uint32_t> permits;
    std::int64_t version;
  };
  std::vector<Asked> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  bool forgets_ = false;
  Answer answer_;
  std::deque<Answer> answers_;
  std::vector<Asked> asked_;
  std::atomic<int> releases_ = 0;
};

class ManagerForgottenTest : public ::testing::Test {
 protected:
  Locks open_locks(Options options = {}) {
    auto backend = std::make_unique<Forgetful>(make_memory_backend(store_));
    backend_ = backend.get();
    options.app = "svc";
    return open(std::move(backend), std::move(options)).value();
  }

  static Result<ReregisterOutcome> registered(const ReregisterRequest& request) {
    return ReregisterOutcome(Renewal{request.renewal.lease});
  }
  static Result<ReregisterOutcome> gone(const ReregisterRequest&) {
    return ReregisterOutcome(Gone{});
  }
  static Result<ReregisterOutcome> stale(const ReregisterRequest&) {
    return ReregisterOutcome(Stale{});
  }
  static Result<ReregisterOutcome> unanswered(const ReregisterRequest&) {
    return Error{Errc::unavailable, "down"};
  }

  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  Forgetful* backend_ = nullptr;  // lives as long as the locks
};

TEST_F(ManagerForgottenTest, ItIsRegisteredByTheConfigurationInForce) {
  Locks locks = open_locks();
  locks.set_permits("a", Mode::read, 5).value();
  Hold hold = locks.acquire({read("a"), write("b")}).value();
  backend_->forget(registered);
  EXPECT_TRUE(hold.renew());
  EXPECT_TRUE(hold.valid());
  const auto asked = backend_->asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].stamp, hold.stamp());
  EXPECT_EQ(asked[0].permits, (std::vector<std::uint32_t>{5, 1}));
  EXPECT_EQ(asked[0].version, locks.config()->version);
}

TEST_F(ManagerForgottenTest, WhatTheStoreDoesNotTakeIsLost) {
  Locks locks = open_locks();
  Hold hold = locks.acquire({write("a")}).value();
  backend_->forget(gone);
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::not_held);
  EXPECT_EQ(hold.lost_reason(), LostReason::gone);
}

// The configuration is loaded, and the registration is made from it.
TEST_F(ManagerForgottenTest, AStaleRegistrationIsMadeAnew) {
  Locks locks = open_locks({.refresh_config = 1h});
  Hold hold = locks.acquire({write("a")}).value();
  const std::int64_t before = locks.config()->version;
  make_memory_backend(store_)->change_config(SetPermits{"a", Mode::write, 3}, test::soon()).value();
  backend_->first(stale);
  backend_->forget(registered);
  EXPECT_TRUE(hold.renew());
  const auto asked = backend_->asked();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].version, before);
  EXPECT_GT(asked[1].version, before);
  EXPECT_EQ(asked[1].permits, std::vector<std::uint32_t>{3});
}

// A store that does not answer loses nobody's hold before its end; the renewer tries again.
TEST_F(ManagerForgottenTest, AfterAnErrorItIsTriedAgain) {
  Locks locks = open_locks({.lease = 30s});
  Hold hold = locks.acquire({write("a")}).value();
  backend_->first(unanswered);
  backend_->forget(registered);
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::unavailable);
  EXPECT_TRUE(hold.valid());
  EXPECT_TRUE(eventually([&] { return backend_->asked().size() >= 2; }));
  EXPECT_TRUE(hold.valid());
}

// SEM 12: a newer instance of the application has begun: its holds are not brought back.
TEST_F(ManagerForgottenTest, AnEndedInstancesHoldIsNotRegistered) {
  Locks locks = open_locks({.reclaim = true, .refresh_config = 1h});
  Hold hold = locks.acquire({write("a")}).value();
  backend_->first(stale);
  backend_->forget(registered);
  const auto other = make_memory_backend(store_);
  const std::int64_t epoch = hold.stamp().value + 1'000'000'000;
  Owner owner{"svc", "other", 0, ""};
  const LockSet id = LockSet::make({write("x")}).value();
  const std::uint32_t permits[] = {1};
  AcquireRequest request;
  request.set = &id;
  request.permits = permits;
  request.config_version = locks.config()->version;
  request.token = Token::random();
  request.owner = &owner;
  request.lease = 1min;
  request.min_stamp = Stamp{epoch};
  request.by = test::soon();
  const Result<AcquireOutcome> newer = other->try_acquire(request);
  ASSERT_TRUE(newer) << newer.error().message;
  const auto* grant = std::get_if<Grant>(&*newer);
  ASSERT_NE(grant, nullptr);
  other->reclaim("svc", grant->stamp.value, test::soon()).value();
  EXPECT_FALSE(hold.renew());
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(backend_->asked().size(), 1U) << "not with the new configuration";
}

// SEM 9: its release may come while the registration is under way, and find nothing. Then nobody
// else would release it.
TEST_F(ManagerForgottenTest, WhatIsReleasedMeanwhileDoesNotStay) {
  Locks locks = open_locks();
  Hold hold = locks.acquire({write("a")}).value();
  backend_->forget([&](const ReregisterRequest& request) {
    EXPECT_TRUE(hold.release());
    return registered(request);
  });
  static_cast<void>(hold.renew().ok());
  EXPECT_FALSE(hold.valid());
  EXPECT_TRUE(eventually([&] { return backend_->releases() == 2; }));
}

}  // namespace
}  // namespace lockset
