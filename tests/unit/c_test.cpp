// lockset/c.h: ownership, texts, callbacks. What the calls mean is tested where they are in C++.
#include "lockset/c.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "lockset/error.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using test::eventually;
using ::testing::HasSubstr;

struct Free {
  void operator()(lockset_locks* locks) const { lockset_locks_free(locks); }
  void operator()(lockset_hold* hold) const { lockset_hold_free(hold); }
  void operator()(lockset_stop* stop) const { lockset_stop_free(stop); }
};
using LocksPtr = std::unique_ptr<lockset_locks, Free>;
using HoldPtr = std::unique_ptr<lockset_hold, Free>;
using StopPtr = std::unique_ptr<lockset_stop, Free>;

class C : public testing::Test {
 protected:
  ~C() override { lockset_text_free(why_); }

  static LocksPtr opened() {
    lockset_locks* locks = nullptr;
    EXPECT_EQ(lockset_open("memory:", nullptr, &locks, nullptr), LOCKSET_OK);
    return LocksPtr(locks);
  }
  HoldPtr taken(const char* name = "a", lockset_mode mode = LOCKSET_WRITE) {
    const lockset_request wanted{name, mode};
    lockset_hold* hold = nullptr;
    EXPECT_EQ(lockset_acquire(locks_.get(), &wanted, 1, LOCKSET_FOREVER, nullptr, &hold, why()),
              LOCKSET_OK);
    return HoldPtr(hold);
  }
  bool is_free(const char* name = "a") {
    const lockset_request wanted{name, LOCKSET_WRITE};
    lockset_hold* hold = nullptr;
    EXPECT_EQ(lockset_try_acquire(locks_.get(), &wanted, 1, nullptr, &hold, nullptr), LOCKSET_OK);
    return HoldPtr(hold) != nullptr;
  }
  char** why() {
    lockset_text_free(why_);
    why_ = nullptr;
    return &why_;
  }
  [[nodiscard]] std::string text() const { return why_ == nullptr ? "" : why_; }

  LocksPtr locks_ = opened();
  char* why_ = nullptr;
};

TEST_F(C, ASetIsTakenAndReleased) {
  const lockset_request wanted[] = {{"b", LOCKSET_READ}, {"a", LOCKSET_WRITE}};
  lockset_hold* raw = nullptr;
  ASSERT_EQ(lockset_acquire(locks_.get(), wanted, 2, 0, nullptr, &raw, why()), LOCKSET_OK);
  const HoldPtr hold(raw);
  EXPECT_EQ(why_, nullptr) << "a success leaves it alone";
  EXPECT_GT(lockset_hold_stamp(raw), 0);
  EXPECT_EQ(lockset_hold_floor(raw, "a"), lockset_hold_stamp(raw));
  EXPECT_EQ(lockset_hold_floor(raw, "c"), 0);
  EXPECT_EQ(lockset_hold_valid(raw), 1);
  EXPECT_EQ(lockset_hold_valid_for(raw, 1000), 1);
  EXPECT_EQ(lockset_hold_valid_for(raw, 60'000), 0) << "the lease is shorter";
  EXPECT_EQ(lockset_hold_renew(raw, why()), LOCKSET_OK);
  EXPECT_FALSE(is_free());
  EXPECT_EQ(lockset_hold_release(raw, why()), LOCKSET_OK);
  EXPECT_EQ(lockset_hold_valid(raw), 0);
  EXPECT_TRUE(is_free());
  EXPECT_EQ(lockset_hold_release(raw, why()), LOCKSET_NOT_HELD);
  EXPECT_THAT(text(), HasSubstr("is not held"));
}

TEST_F(C, FreeingReleases) {
  HoldPtr hold = taken();
  EXPECT_FALSE(is_free());
  hold.reset();
  EXPECT_TRUE(is_free());
  hold = taken();
  locks_.reset();  // before its hold
  EXPECT_EQ(lockset_hold_valid(hold.get()), 0);
  EXPECT_EQ(lockset_hold_release(hold.get(), why()), LOCKSET_NOT_HELD);
}

TEST_F(C, AWaitEndsByItsTimeOrItsStop) {
  const HoldPtr hold = taken();
  const lockset_request wanted{"a", LOCKSET_WRITE};
  lockset_hold* none = nullptr;
  EXPECT_EQ(lockset_acquire(locks_.get(), &wanted, 1, 10, nullptr, &none, why()), LOCKSET_TIMEOUT);
  EXPECT_THAT(text(), HasSubstr("\"a\" is held by"));
  const StopPtr stop(lockset_stop_new());
  lockset_acquire_options options{};
  options.size = sizeof options;
  options.stop = stop.get();
  std::thread stopper([&] { lockset_stop_request(stop.get()); });
  EXPECT_EQ(lockset_acquire(locks_.get(), &wanted, 1, LOCKSET_FOREVER, &options, &none, nullptr),
            LOCKSET_CANCELLED);
  stopper.join();
  EXPECT_EQ(none, nullptr);
}

struct Acquired {
  std::atomic<int> calls = 0;
  lockset_code code = LOCKSET_OK;
  HoldPtr hold;
  std::string why;

  static void done(void* data, lockset_code code, lockset_hold* hold, const char* why) {
    auto& mine = *static_cast<Acquired*>(data);
    mine.code = code;
    mine.hold.reset(hold);
    mine.why = why == nullptr ? "" : why;
    ++mine.calls;
  }
};

TEST_F(C, AnAcquireIsStarted) {
  HoldPtr first = taken();
  const lockset_request wanted{"a", LOCKSET_WRITE};
  Acquired acquired;
  lockset_start_acquire(locks_.get(), &wanted, 1, LOCKSET_FOREVER, nullptr, Acquired::done,
                        &acquired);
  EXPECT_EQ(acquired.calls, 0);
  first.reset();
  ASSERT_TRUE(eventually([&] { return acquired.calls == 1; }));
  EXPECT_EQ(acquired.code, LOCKSET_OK);
  EXPECT_EQ(lockset_hold_valid(acquired.hold.get()), 1);

  Acquired aborted;
  lockset_start_acquire(locks_.get(), &wanted, 1, LOCKSET_FOREVER, nullptr, Acquired::done,
                        &aborted);
  locks_.reset();
  EXPECT_EQ(aborted.calls, 1);
  EXPECT_EQ(aborted.code, LOCKSET_CANCELLED);
  EXPECT_EQ(aborted.hold, nullptr);

  Acquired mistaken;
  lockset_start_acquire(nullptr, &wanted, 1, 0, nullptr, Acquired::done, &mistaken);
  EXPECT_EQ(mistaken.calls, 1);
  EXPECT_EQ(mistaken.code, LOCKSET_INVALID);
  EXPECT_EQ(mistaken.why, "`locks` is NULL");
}

TEST_F(C, MistakesAreNamed) {
  lockset_locks* locks = nullptr;
  lockset_hold* hold = nullptr;
  EXPECT_EQ(lockset_open("nonsense:", nullptr, &locks, why()), LOCKSET_INVALID);
  EXPECT_THAT(text(), HasSubstr("memory"));
  EXPECT_EQ(lockset_open(nullptr, nullptr, &locks, why()), LOCKSET_INVALID);
  EXPECT_EQ(text(), "the address is NULL");
  EXPECT_EQ(lockset_open("memory:", nullptr, nullptr, nullptr), LOCKSET_INVALID);
  lockset_options options{};
  EXPECT_EQ(lockset_open("memory:", &options, &locks, why()), LOCKSET_INVALID);
  EXPECT_THAT(text(), HasSubstr("set it to sizeof(lockset_options)"));
  options.size = sizeof options;
  options.lease = -2;
  EXPECT_EQ(lockset_open("memory:", &options, &locks, why()), LOCKSET_INVALID);
  EXPECT_EQ(text(), "lease: -2 ms is negative; only -1 has a meaning");
  options.lease = 999;
  EXPECT_EQ(lockset_open("memory:", &options, &locks, why()), LOCKSET_INVALID);
  EXPECT_EQ(locks, nullptr);

  const lockset_request nameless{nullptr, LOCKSET_WRITE};
  EXPECT_EQ(lockset_acquire(locks_.get(), &nameless, 1, 0, nullptr, &hold, why()), LOCKSET_INVALID);
  EXPECT_EQ(text(), "the name of request 0 is NULL");
  const lockset_request modeless{"a", 7};
  EXPECT_EQ(lockset_acquire(locks_.get(), &modeless, 1, 0, nullptr, &hold, why()), LOCKSET_INVALID);
  EXPECT_THAT(text(), HasSubstr("the mode of request 0 is 7"));
  EXPECT_EQ(lockset_acquire(locks_.get(), nullptr, 0, 0, nullptr, &hold, why()), LOCKSET_INVALID);
  EXPECT_EQ(lockset_hold_release(nullptr, why()), LOCKSET_INVALID);
  EXPECT_EQ(lockset_hold_valid(nullptr), 0);
  EXPECT_EQ(hold, nullptr);
  lockset_locks_free(nullptr);
  lockset_hold_free(nullptr);
  lockset_stop_free(nullptr);
}

TEST_F(C, ALossIsTold) {
  HoldPtr hold = taken();
  std::atomic<int> told = 0;
  const auto tell = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
  EXPECT_EQ(lockset_hold_on_lost(hold.get(), tell, &told, why()), LOCKSET_OK);
  hold.reset();
  EXPECT_EQ(told, 0) << "a release is no loss";
  hold = taken();
  EXPECT_EQ(lockset_hold_on_lost(hold.get(), tell, &told, why()), LOCKSET_OK);
  EXPECT_EQ(lockset_hold_lost_reason(hold.get()), LOCKSET_NOT_LOST);
  const std::int64_t stamp = lockset_hold_stamp(hold.get());
  EXPECT_EQ(lockset_break_stamp(locks_.get(), stamp, why()), LOCKSET_OK);
  EXPECT_EQ(lockset_hold_renew(hold.get(), why()), LOCKSET_NOT_HELD);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  EXPECT_EQ(lockset_hold_lost_reason(hold.get()), LOCKSET_LOST_GONE);
  EXPECT_EQ(lockset_hold_on_lost(hold.get(), tell, &told, why()), LOCKSET_OK);
  EXPECT_EQ(told, 2) << "it is lost already";
  EXPECT_EQ(lockset_break_stamp(locks_.get(), stamp, why()), LOCKSET_NOT_HELD);
  EXPECT_EQ(lockset_release_stamp(locks_.get(), stamp, why()), LOCKSET_NOT_HELD);
}

TEST_F(C, AHoldIsConverted) {
  const HoldPtr hold = taken("a", LOCKSET_READ);
  const HoldPtr reader = taken("b", LOCKSET_READ);
  const std::int64_t stamp = lockset_hold_stamp(hold.get());
  std::int32_t done = 0;
  EXPECT_EQ(lockset_hold_upgrade(hold.get(), &done, why()), LOCKSET_OK) << text();
  EXPECT_EQ(done, 1);
  EXPECT_GT(lockset_hold_stamp(hold.get()), stamp);
  EXPECT_EQ(lockset_hold_downgrade(hold.get(), &done, why()), LOCKSET_OK) << text();
  EXPECT_EQ(done, 1);
  EXPECT_EQ(lockset_hold_valid(hold.get()), 1);
  EXPECT_EQ(lockset_hold_downgrade(reader.get(), &done, why()), LOCKSET_INVALID);
  EXPECT_THAT(text(), HasSubstr("read already"));
  std::int64_t detached = 0;
  EXPECT_EQ(lockset_hold_detach(reader.get(), &detached, why()), LOCKSET_UNSUPPORTED);
}

TEST_F(C, NamesOfCodes) {
  EXPECT_STREQ(lockset_code_name(LOCKSET_OK), "ok");
  EXPECT_STREQ(lockset_code_name(LOCKSET_TIMEOUT), "timeout");
  EXPECT_STREQ(lockset_code_name(LOCKSET_INTERNAL), "internal");
  EXPECT_STREQ(lockset_code_name(LOCKSET_NO_MEMORY), "no_memory");
  EXPECT_STREQ(lockset_code_name(99), "unknown");
  for (int code = LOCKSET_OK; code <= LOCKSET_NO_MEMORY; ++code) {
    EXPECT_STRNE(lockset_code_name(code), "unknown") << code;
  }
  EXPECT_THAT(lockset_lost_reason_text(LOCKSET_LOST_EXPIRED), HasSubstr("lease ran out"));
  EXPECT_STREQ(lockset_lost_reason_text(-1), "unknown");
  EXPECT_GE(std::string(lockset_version()).size(), 5U);
}

}  // namespace
}  // namespace lockset
