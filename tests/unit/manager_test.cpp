// Locks and Hold over the memory backend and over faulty backends. Tests for every backend are in
// tests/conformance; these need a certain fault.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using ::testing::HasSubstr;

// Forwards everything unless told to fail.
class Switchable final : public ForwardingBackend {
 public:
  struct Switches {
    std::atomic<int> lose_acquire_replies{0};
    std::atomic<int> lose_release_replies{0};
    std::atomic<bool> lose_renewal_replies{false};
    std::atomic<bool> renewals_hang{false};
    // No renewal by this thread reaches the store until this is cleared.
    std::thread::id cut_off;
    TimePoint cut_off_until{};
    std::atomic<bool> down{false};
    std::atomic<std::int64_t> grant_stamp{0};
    std::atomic<std::int64_t> store_clock_ahead_us{0};
    std::atomic<int> renew_calls{0};
    // Called once, after an acquire was granted and before the caller learns of it.
    std::function<void()> after_grant;
    std::mutex mutex;
    std::condition_variable unhang;
  };

  Switchable(std::shared_ptr<Backend> inner, std::shared_ptr<Switches> switches)
      : ForwardingBackend(std::move(inner)), switches_(std::move(switches)) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (switches_->down) return Error{Errc::unavailable, "down"};
    Result<AcquireOutcome> outcome = ForwardingBackend::try_acquire(request);
    if (switches_->lose_acquire_replies > 0) {
      --switches_->lose_acquire_replies;
      return Error{Errc::indeterminate, "the reply was lost"};
    }
    if (const auto call = std::exchange(switches_->after_grant, nullptr)) call();
    if (Grant* grant = std::get_if<Grant>(&*outcome); grant && switches_->grant_stamp > 0) {
      grant->stamp = Stamp{switches_->grant_stamp};
    }
    return outcome;
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    Result<std::optional<Grant>> found = ForwardingBackend::resolve(attempt, by);
    if (found && *found && switches_->grant_stamp > 0) {
      (*found)->stamp = Stamp{switches_->grant_stamp};
    }
    return found;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    if (switches_->down) return Error{Errc::unavailable, "down"};
    Result<bool> result = ForwardingBackend::release(hold, app, by);
    if (switches_->lose_release_replies > 0) {
      --switches_->lose_release_replies;
      return Error{Errc::indeterminate, "the reply was lost"};
    }
    return result;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    ++switches_->renew_calls;
    if (switches_->renewals_hang) {
      std::unique_lock lock(switches_->mutex);
      // Bounded: a test that fails must not hang.
      switches_->unhang.wait_for(lock, 60s, [&] { return !switches_->renewals_hang; });
      return Error{Errc::indeterminate, "hung"};
    }
    if (switches_->down) return Error{Errc::unavailable, "down"};
    if (std::this_thread::get_id() == switches_->cut_off &&
        BootClock::now() < switches_->cut_off_until) {
      return Error{Errc::unavailable, "cut off"};
    }
    Result<RenewReply> reply = ForwardingBackend::renew(owner, requests, by);
    if (switches_->lose_renewal_replies) return Error{Errc::indeterminate, "the reply was lost"};
    if (reply) reply->store_time_us += switches_->store_clock_ahead_us;
    return reply;
  }

 private:
  std::shared_ptr<Switches> switches_;
};

class Recorder final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    const std::lock_guard lock(mutex_);
    ++counts_[event.kind];
    changed_.notify_all();
  }
  int count(Event::Kind kind) {
    const std::lock_guard lock(mutex_);
    return counts_[kind];
  }
  bool wait_for(Event::Kind kind, Duration patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return counts_[kind] > 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Event::Kind, int> counts_;
};

class ManagerTest : public ::testing::Test {
 protected:
  Locks open_locks(Options options = {}) {
    options.observer = events_;
    if (options.app.empty()) options.app = "app";
    std::shared_ptr<Backend> inner = make_memory_backend(store_);
    return open(std::make_unique<Switchable>(std::move(inner), switches_), std::move(options))
        .value();
  }
  std::size_t holds() {
    return make_memory_backend(store_)->inspect({}, BootClock::now() + 5s).value().holds.size();
  }

  bool is_held(const std::string& name) {
    const InspectQuery query{InspectQuery::Match::name, name};
    return !make_memory_backend(store_)->inspect(query, TimePoint::max()).value().holds.empty();
  }
  HoldInfo application_hold(const std::string& app) {
    const InspectQuery query{InspectQuery::Match::name, "@app:" + app};
    return make_memory_backend(store_)->inspect(query, TimePoint::max()).value().holds.at(0);
  }

  void break_application() {
    const auto backend = make_memory_backend(store_);
    for (const HoldInfo& info : backend->inspect({}, TimePoint::max()).value().holds) {
      if (!info.items.front().name.starts_with("@app:")) continue;
      ASSERT_TRUE(backend->break_hold(info.stamp, TimePoint::max()).value());
    }
  }
  bool all_free() {
    return eventually([&] { return holds() == 0; });
  }

  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  std::shared_ptr<Switchable::Switches> switches_ = std::make_shared<Switchable::Switches>();
  std::shared_ptr<Recorder> events_ = std::make_shared<Recorder>();
};

// Whether `hold` reports that it is lost before a lease of 60 s could have ended.
bool is_told(const Hold& hold, Duration limit = 30s) {
  std::atomic<bool> lost = false;
  const std::stop_callback on_loss(hold.lost(), [&] { lost = true; });
  return eventually([&] { return lost.load(); }, limit);
}

// SEM 14
TEST_F(ManagerTest, ALostReplyOfAnAcquireIsAdoptedAndLeavesOneHold) {
  Locks locks = open_locks();
  switches_->lose_acquire_replies = 1;
  Hold hold = locks.acquire({write("a")}).value();
  EXPECT_TRUE(hold.valid());
  EXPECT_EQ(holds(), 1U);
  EXPECT_EQ(events_->count(Event::Kind::resolved), 1);
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(holds(), 0U);
}

// SEM 9
TEST_F(ManagerTest, ALostReplyOfAReleaseIsASuccessWhileTheHoldWasValid) {
  Locks locks = open_locks();
  Hold hold = locks.acquire({write("a")}).value();
  switches_->lose_release_replies = 1;
  EXPECT_TRUE(hold.release());
  EXPECT_EQ(holds(), 0U);
}

// SEM 9: nobody can know any more
TEST_F(ManagerTest, ALostReplyOfAReleaseByAStrangerIsIndeterminate) {
  Locks holder = open_locks();
  const Stamp stamp = holder.try_locks({write("a")}).value();
  Locks other = open_locks();
  switches_->lose_release_replies = 1;
  EXPECT_EQ(other.release_locks(stamp).error().code, Errc::indeterminate);
}

// SEM 10: giving up is local, even while a renewal hangs
TEST_F(ManagerTest, AHangingStoreDelaysNoBadNews) {
  Locks locks = open_locks({.lease = 2s});
  const TimePoint before = BootClock::now();
  Hold hold = locks.acquire({write("a")}).value();
  const TimePoint until = hold.valid_until();
  // Longer than the watchdog stays awake by itself.
  EXPECT_GE(until, before + 1780ms) << "the lease less its margin";
  switches_->renewals_hang = true;
  EXPECT_TRUE(is_told(hold));
  EXPECT_GE(BootClock::now(), until);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::expired);
  EXPECT_GE(switches_->renew_calls, 1);
  EXPECT_EQ(hold.release().error().code, Errc::not_held);
  {
    const std::lock_guard lock(switches_->mutex);
    switches_->renewals_hang = false;
  }
  switches_->unhang.notify_all();
}

// SEM 10
TEST_F(ManagerTest, ARenewalThatFailsIsTriedAgainInTime) {
  Locks locks = open_locks({.lease = 6s});
  Hold hold = locks.acquire({write("a")}).value();
  const TimePoint end = hold.valid_until();
  switches_->down = true;
  ASSERT_TRUE(events_->wait_for(Event::Kind::renewal_failed, test::patience));
  switches_->down = false;
  ASSERT_TRUE(events_->wait_for(Event::Kind::renewed, test::patience));
  EXPECT_TRUE(hold.valid());
  EXPECT_GT(hold.valid_until(), end);
}

// SEM 8
TEST_F(ManagerTest, AGrantBelowTheHighWaterMarkIsRefused) {
  Locks locks = open_locks();
  locks.acquire({write("a")}).value().release().value();
  switches_->grant_stamp = 5;  // as a restored store would answer
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 0s});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::rolled_back);
  EXPECT_THAT(hold.error().message, HasSubstr("stamp 5 after"));
}

// SEM 8: the last stamp again is as wrong as a lower one
TEST_F(ManagerTest, AGrantWithTheLastStampAgainIsRefused) {
  Locks locks = open_locks();
  const Stamp last = locks.try_locks({write("a")}).value();
  locks.release_locks(last).value();
  switches_->grant_stamp = last.value;
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 0s});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::rolled_back);
}

// SEM 8: also if the grant is found after its reply was lost
TEST_F(ManagerTest, AnAdoptedGrantBelowTheHighWaterMarkIsRefused) {
  Locks locks = open_locks();
  locks.acquire({write("a")}).value().release().value();
  switches_->lose_acquire_replies = 1;
  switches_->grant_stamp = 5;
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 0s});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::rolled_back);
}

// SEM 20
TEST_F(ManagerTest, AStoreClockThatStepsIsReported) {
  Locks locks = open_locks({.lease = 6s});
  Hold hold = locks.acquire({write("a")}).value();
  EXPECT_TRUE(hold.renew());
  EXPECT_EQ(events_->count(Event::Kind::clock_stepped), 0);
  switches_->store_clock_ahead_us = 5'000'000;
  EXPECT_TRUE(hold.renew());
  EXPECT_EQ(events_->count(Event::Kind::clock_stepped), 1);
}

// Also if it steps between the grant and the first renewal.
TEST_F(ManagerTest, AStoreClockThatStepsBeforeTheFirstRenewalIsReported) {
  Locks locks = open_locks({.lease = 6s});
  Hold hold = locks.acquire({write("a")}).value();
  switches_->store_clock_ahead_us = 5'000'000;
  EXPECT_TRUE(hold.renew());
  EXPECT_EQ(events_->count(Event::Kind::clock_stepped), 1);
}

// SEM 14: retries are bounded, and the error says what happened
TEST_F(ManagerTest, AStoreThatIsDownEndsAWaitAfterItsPatience) {
  Locks locks = open_locks({.store_patience = 200ms});
  switches_->down = true;
  const test::Stopwatch watch;
  const Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1min});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::unavailable);
  EXPECT_GE(BootClock::now() - watch.began(), 200ms);
  EXPECT_LT(watch.elapsed(), 3s);
}

// SEM 10: many holds, few round trips
TEST_F(ManagerTest, HoldsAreRenewedTogether) {
  Locks locks = open_locks({.lease = 3s});
  std::vector<Hold> held;
  std::vector<TimePoint> ends;
  for (int i = 0; i < 500; ++i) {
    held.push_back(locks.acquire({write("n" + std::to_string(i))}).value());
    ends.push_back(held.back().valid_until());
  }
  const int before = switches_->renew_calls;
  EXPECT_TRUE(eventually([&] {
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (held[i].valid_until() == ends[i]) return false;
    }
    return true;
  }));
  for (const Hold& hold : held) EXPECT_TRUE(hold.valid());
  // A few batches per third of the lease.
  EXPECT_LT(switches_->renew_calls - before, 40);
}

// SEM 12: with reclaim, a hold is valid only as long as the hold on the application id
TEST_F(ManagerTest, LosingTheApplicationEndsItsHolds) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  Hold hold = locks.acquire({write("a")}, {.lease = 60s}).value();
  const auto backend = make_memory_backend(store_);
  for (const HoldInfo& info : backend->inspect({}, TimePoint::max()).value().holds) {
    if (info.items.front().name == "@app:svc") {
      ASSERT_TRUE(backend->break_hold(info.stamp, TimePoint::max()).value());
    }
  }
  EXPECT_TRUE(is_told(hold));
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::app_lost);
}

// SEM 12: nobody may rely on what an instance without its application is granted
TEST_F(ManagerTest, AnInstanceThatLostItsApplicationTakesNothing) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  Hold before = locks.acquire({write("a")}, {.lease = 60s}).value();
  break_application();
  EXPECT_TRUE(is_told(before));
  const Result<Hold> waited = locks.acquire({write("b")}, {.lease = 60s});
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, Errc::superseded);
  EXPECT_THAT(waited.error().message, HasSubstr("open the space again"));
  EXPECT_EQ(locks.try_acquire({write("b")}).error().code, Errc::superseded);
  EXPECT_EQ(locks.try_locks({write("b")}).error().code, Errc::superseded);
  EXPECT_FALSE(is_held("b"));
  Locks again = open_locks({.app = "svc", .reclaim = true});
  EXPECT_TRUE(again.acquire({write("a"), write("b")}, {.wait = 0s}).value().valid());
}

// SEM 12: the application was lost while the store's answer was under way
TEST_F(ManagerTest, AGrantThatComesAfterTheApplicationWasLostIsGivenBack) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  Hold before = locks.acquire({write("a")}, {.lease = 60s}).value();
  bool granted = false;
  switches_->after_grant = [&] {
    granted = true;
    break_application();
    EXPECT_TRUE(is_told(before));
  };
  const Result<Hold> hold = locks.acquire({write("b")}, {.lease = 60s});
  ASSERT_TRUE(granted);
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::superseded);
  EXPECT_FALSE(is_held("b"));
}

// SEM 12: the waiter gets that error, not a grant
TEST_F(ManagerTest, AWaitEndsWhenTheApplicationIsLost) {
  Locks other = open_locks();
  const Hold taken = other.acquire({write("b")}).value();
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  std::thread breaker([&] {
    if (events_->wait_for(Event::Kind::busy, 30s)) break_application();
  });
  const Result<Hold> hold = locks.acquire({write("b")}, {.wait = 60s});
  breaker.join();
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::superseded) << hold.error().message;
}

// SEM 12: a dead process must not lock out its successors for ever
TEST_F(ManagerTest, TheHoldOnTheApplicationAlwaysHasALease) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = no_lease});
  const Hold hold = locks.acquire({write("a")}).value();
  EXPECT_EQ(hold.lease(), no_lease);
  const HoldInfo id = application_hold("svc");
  ASSERT_TRUE(id.remaining);
  EXPECT_LE(*id.remaining, default_lease);
  // It does not lose the lease later either.
  Locks other = open_locks({.app = "svc"});
  for (Locks* one : {&locks, &other}) {
    const Result<Duration> renewed = one->renew_locks(id.stamp, no_lease);
    ASSERT_FALSE(renewed);
    EXPECT_EQ(renewed.error().code, Errc::invalid);
    EXPECT_THAT(renewed.error().message, HasSubstr("always has a lease"));
  }
  EXPECT_TRUE(application_hold("svc").remaining);
  EXPECT_TRUE(locks.renew_locks(id.stamp, 20s));
  EXPECT_EQ(locks.renew_locks(hold.stamp(), no_lease).value(), no_lease);
}

// SEM 11: no lease ends it, so giving it up must end it
TEST_F(ManagerTest, APermanentHoldLostWithItsApplicationIsReleasedAllTheSame) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  Hold hold = locks.acquire({write("a")}, {.lease = no_lease}).value();
  break_application();
  EXPECT_TRUE(is_told(hold));
  EXPECT_EQ(hold.release().error().code, Errc::not_held);
  EXPECT_TRUE(all_free());
}

// SEM 11: the renewal that made it permanent was applied, and nobody learned of it
TEST_F(ManagerTest, AHoldThatPerhapsBecamePermanentIsReleased) {
  Locks locks = open_locks();
  locks.set_max_lease(1s).value();
  switches_->lose_renewal_replies = true;
  Result<Hold> hold = locks.acquire({write("a")}, {.wait = 1s, .lease = no_lease});
  ASSERT_FALSE(hold.ok());
  EXPECT_EQ(hold.error().code, Errc::unavailable) << hold.error().message;
  EXPECT_TRUE(all_free());
}

// SEM 11: no matter which thread got the answer
TEST_F(ManagerTest, AHoldThatTheKeeperMadePermanentIsGranted) {
  Locks locks = open_locks();
  locks.set_max_lease(6s).value();
  switches_->cut_off = std::this_thread::get_id();
  switches_->cut_off_until = BootClock::now() + 30s;
  const Hold hold = locks.acquire({write("a")}, {.lease = no_lease}).value();
  EXPECT_LT(BootClock::now(), switches_->cut_off_until) << "waited for the store to come back";
  EXPECT_EQ(hold.lease(), no_lease);
  EXPECT_TRUE(hold.valid());
}

// SEM 10: a caller that was told that it is gone must not find it valid
TEST_F(ManagerTest, RenewingByStampWhatIsGoneMakesItLost) {
  Locks locks = open_locks();
  const Stamp stamp = locks.try_locks({write("a")}, {.lease = 60s}).value();
  ASSERT_TRUE(make_memory_backend(store_)->break_hold(stamp, TimePoint::max()).value());
  EXPECT_EQ(locks.renew_locks(stamp).error().code, Errc::not_held);
  EXPECT_FALSE(locks.valid(stamp));
}

// SEM 12: the configuration shows it, long before the next renewal would
TEST_F(ManagerTest, ANewerInstanceEndsTheHoldsOfTheOlder) {
  Locks older = open_locks({.app = "svc", .reclaim = true, .lease = 60s, .refresh_config = 20ms});
  Hold hold = older.acquire({write("a")}).value();
  const auto backend = make_memory_backend(store_);
  for (const HoldInfo& info : backend->inspect({}, TimePoint::max()).value().holds) {
    if (info.items.front().name == "@app:svc") {
      ASSERT_TRUE(backend->break_hold(info.stamp, TimePoint::max()).value());
    }
  }
  Locks newer = open_locks({.app = "svc", .reclaim = true});
  EXPECT_TRUE(is_told(hold, 15s)) << "a third of the lease is 20 s";
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.lost_reason(), LostReason::superseded);
  EXPECT_TRUE(newer.acquire({write("a")}, {.wait = 0s}).value().valid());
}

// SEM 12
TEST_F(ManagerTest, ReclaimNeedsAnExplicitApplication) {
  const auto locks = open("memory:", {.reclaim = true});
  ASSERT_FALSE(locks);
  EXPECT_EQ(locks.error().code, Errc::invalid);
}

TEST_F(ManagerTest, BadOptionsAreNamed) {
  EXPECT_THAT(open("memory:", {.lease = 500ms}).error().message, HasSubstr("at least 1s"));
  EXPECT_THAT(open("memory:", {.app = "a\nb"}).error().message, HasSubstr("application id"));
  EXPECT_THAT(open("memory:", {.app = std::string(201, 'x')}).error().message,
              HasSubstr("201 bytes"));
  EXPECT_THAT(open("memory:", {.io_timeout = 0s}).error().message, HasSubstr("I/O timeout"));
  Locks locks = open_locks();
  EXPECT_THAT(locks.acquire({write("a")}, {.lease = 11min}).error().message,
              HasSubstr("longer than this space allows (10m)"));
  EXPECT_EQ(locks.acquire({write("a")}, {.lease = 10ms}).error().code, Errc::invalid);
  EXPECT_EQ(locks.acquire({write("a")}, {.wait = -1s}).error().code, Errc::invalid);
}

TEST_F(ManagerTest, LabelsAreMadeFitForTerminals) {
  Locks locks = open_locks({.label = "evil\x1b[2J\nlabel\xff"});
  const Hold hold = locks.acquire({write("a")}).value();
  EXPECT_EQ(locks.inspect().value().holds.front().owner.label, "evil?[2J?label?");
}

// SEM 9
TEST_F(ManagerTest, AHoldOutlivesItsLocksOnlyAsAnObject) {
  auto locks = std::make_unique<Locks>(open_locks());
  Hold hold = locks->acquire({write("a")}).value();
  locks.reset();
  EXPECT_EQ(holds(), 0U);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.release().error().code, Errc::not_held);
  EXPECT_FALSE(hold.lost().stop_requested()) << "lost() never fires because of a release";
}

TEST_F(ManagerTest, MovingAHoldReleasesWhatItReplaces) {
  Locks locks = open_locks();
  Hold hold = locks.acquire({write("a")}).value();
  hold = locks.acquire({write("b")}).value();
  EXPECT_EQ(holds(), 1U);
  hold = Hold();
  EXPECT_EQ(holds(), 0U);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.stamp(), Stamp{});
  EXPECT_EQ(hold.release().error().code, Errc::not_held);
}

// SEM 6: a reader of the cache never sees half an update
TEST_F(ManagerTest, TheCachedConfigurationIsWhole) {
  Locks locks = open_locks();
  std::jthread writer([&](const std::stop_token& stop) {
    for (std::uint32_t i = 1; !stop.stop_requested(); ++i) {
      locks.set_permits("a", Mode::read, i).value();
      locks.set_permits("a", Mode::write, i).value();
    }
  });
  for (int i = 0; i < 20000; ++i) {
    const Permits permits = locks.config()->permits_of("a");
    ASSERT_TRUE(permits.read == permits.write || permits.read == permits.write + 1)
        << permits.read << " " << permits.write;
  }
}

// SEM 6: the background thread takes over changes by others
TEST_F(ManagerTest, TheCacheFollowsTheStore) {
  Locks locks = open_locks({.refresh_config = 20ms});
  const Hold hold = locks.acquire({write("a")}).value();
  const int before = events_->count(Event::Kind::config_changed);
  make_memory_backend(store_)
      ->change_config(SetPermits{"x", Mode::read, 7}, TimePoint::max())
      .value();
  // Reported after it was taken over.
  EXPECT_TRUE(eventually([&] { return events_->count(Event::Kind::config_changed) > before; }));
  EXPECT_EQ(events_->count(Event::Kind::config_changed), before + 1);
  EXPECT_EQ(locks.config()->permits_of("x").read, 7U);
}

}  // namespace
}  // namespace lockset
