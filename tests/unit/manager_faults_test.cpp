// Locks over a store that loses, delays or garbles a reply at a critical moment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>

#include "core/keeper.h"
#include "lockset/lockset.h"
#include "lockset/memory_backend.h"
#include "tests/support/faulty_backend.h"
#include "tests/support/manual_clock.h"
#include "tests/support/wait.h"

namespace lockset {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using ::testing::HasSubstr;

const Error lost{Errc::indeterminate, "the reply was lost"};
const Error down{Errc::unavailable, "down"};

// Each call goes to the store, unless a test has set a hook for it.
struct Hooks {
  template <class Reply, class... Request>
  using Hook = std::function<Result<Reply>(Backend& store, const Request&...)>;

  Hook<AcquireOutcome, AcquireRequest> acquire;
  Hook<std::optional<Grant>, HoldRef, TimePoint> resolve;
  Hook<RenewReply, Owner, std::span<const RenewRequest>, TimePoint> renew;
  Hook<bool, HoldRef, std::string_view, TimePoint> release;
  Hook<SpaceConfig, TimePoint> load_config;
  Hook<SpaceConfig, ConfigChange, TimePoint> change_config;
  Hook<std::size_t, std::string_view, std::int64_t, TimePoint> reclaim;
  Hook<std::size_t, TimePoint> sweep;
  std::size_t renew_chunk = 1000;
  std::mutex mutex;  // guards the hooks: threads of the locks call them

  template <class Any>
  void set(Any Hooks::*hook, std::type_identity_t<Any> to) {
    const std::lock_guard lock(mutex);
    this->*hook = std::move(to);
  }
  template <class Any>
  Any get(Any Hooks::*hook) {
    const std::lock_guard lock(mutex);
    return this->*hook;
  }
};

class Hooked final : public ForwardingBackend {
 public:
  Hooked(std::shared_ptr<Backend> inner, std::shared_ptr<Hooks> hooks)
      : ForwardingBackend(std::move(inner)), hooks_(std::move(hooks)) {}

  [[nodiscard]] Traits traits() const override {
    Traits traits = ForwardingBackend::traits();
    traits.renew_chunk = hooks_->renew_chunk;
    return traits;
  }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    const auto hook = hooks_->get(&Hooks::acquire);
    return hook ? hook(inner(), request) : inner().try_acquire(request);
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::resolve);
    return hook ? hook(inner(), attempt, by) : inner().resolve(attempt, by);
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::renew);
    return hook ? hook(inner(), owner, requests, by) : inner().renew(owner, requests, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::release);
    return hook ? hook(inner(), hold, app, by) : inner().release(hold, app, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::load_config);
    return hook ? hook(inner(), by) : inner().load_config(by);
  }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::change_config);
    return hook ? hook(inner(), change, by) : inner().change_config(change, by);
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::reclaim);
    return hook ? hook(inner(), app, epoch, by) : inner().reclaim(app, epoch, by);
  }
  Result<std::size_t> sweep(TimePoint by) override {
    const auto hook = hooks_->get(&Hooks::sweep);
    return hook ? hook(inner(), by) : inner().sweep(by);
  }

 private:
  std::shared_ptr<Hooks> hooks_;
};

// The reasons why holds were lost, by their first name.
class Losses final : public Observer {
 public:
  void on_event(const Event& event) noexcept override {
    if (event.kind != Event::Kind::lost) return;
    const std::lock_guard lock(mutex_);
    reasons_[event.items.front().name] = event.detail;
  }
  std::string reason(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return reasons_[name];
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> reasons_;
};

// Opens once. Waits for it are bounded: a test that fails must not hang.
class Once {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  bool pass() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 30s, [&] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class ManagerFaults : public ::testing::Test {
 protected:
  Locks open_locks(Options options = {}) {
    if (options.app.empty()) options.app = "app";
    options.observer = losses_;
    return open(std::make_unique<Hooked>(store(), hooks_), std::move(options)).value();
  }
  std::shared_ptr<Backend> store() { return make_memory_backend(store_); }
  std::vector<HoldInfo> holds(const std::string& name) {
    return store()->inspect({InspectQuery::Match::name, name}, TimePoint::max()).value().holds;
  }
  bool gets_free(const std::string& name) {
    return eventually([&] { return holds(name).empty(); });
  }
  void break_all(const std::string& name) {
    for (const HoldInfo& hold : holds(name)) {
      EXPECT_TRUE(store()->break_hold(hold.stamp, TimePoint::max()).value());
    }
  }
  // The call takes effect the first time, but its reply is lost.
  template <class Call>
  static auto losing_one_reply(Call call) {
    return [call, done = std::make_shared<std::atomic<int>>(0)](
               Backend& store, const auto&... request) -> decltype(call(store, request...)) {
      auto reply = call(store, request...);
      if (done->fetch_add(1) == 0) return lost;
      return reply;
    };
  }

  test::ManualClock clock_;
  std::shared_ptr<MemoryStore> store_ = make_memory_store();
  std::shared_ptr<Hooks> hooks_ = std::make_shared<Hooks>();
  std::shared_ptr<Losses> losses_ = std::make_shared<Losses>();
};

// The test decides when leases end.
class ManagerFaultsInTime : public ManagerFaults {
 protected:
  ManagerFaultsInTime() { store_ = make_memory_store(clock_); }
};

// --- opening, the configuration ---

// SEM 12, 14: a second reclaim does no harm
TEST_F(ManagerFaults, ALostReplyOfAReclaimIsAskedForAgain) {
  hooks_->reclaim =
      losing_one_reply([](Backend& store, const std::string_view& app, const std::int64_t& epoch,
                          const TimePoint& by) { return store.reclaim(app, epoch, by); });
  Locks locks = open_locks({.app = "svc", .reclaim = true});
  EXPECT_TRUE(locks.acquire({write("a")}).value().valid());
}

// SEM 12: "has epoch 0 and is refused the same way once its application runs with `reclaim`"
TEST_F(ManagerFaults, WithoutReclaimItIsSupersededByOneWith) {
  Locks plain = open_locks({.app = "svc"});
  const Locks reclaiming = open_locks({.app = "svc", .reclaim = true});
  const auto refused = plain.try_acquire({write("a")});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::superseded);
}

// SEM 6, 14
TEST_F(ManagerFaults, ALostReplyOfAChangeIsAskedForAgain) {
  hooks_->change_config =
      losing_one_reply([](Backend& store, const ConfigChange& change, const TimePoint& by) {
        return store.change_config(change, by);
      });
  Locks locks = open_locks();
  EXPECT_TRUE(locks.set_permits("a", Mode::read, 7));
  EXPECT_EQ(locks.config()->permits_of("a").read, 7U);
}

// SEM 12: each hold is told its own reason
TEST_F(ManagerFaults, AForgottenApplicationIsGoneAndItsHoldsAreLostWithIt) {
  Locks locks = open_locks({.app = "svc", .reclaim = true});
  const Hold hold = locks.acquire({write("a")}).value();
  hooks_->set(&Hooks::load_config, [](Backend& store, const TimePoint& by) {
    Result<SpaceConfig> config = store.load_config(by);
    config->epochs.clear();
    return config;
  });
  ASSERT_TRUE(locks.load_config());
  EXPECT_TRUE(eventually([&] { return !losses_->reason("@app:svc").empty(); }));
  EXPECT_TRUE(eventually([&] { return !losses_->reason("a").empty(); }));
  EXPECT_EQ(losses_->reason("@app:svc"), to_string(LostReason::gone));
  EXPECT_EQ(losses_->reason("a"), to_string(LostReason::app_lost));
  EXPECT_FALSE(hold.valid());
}

// SEM 10: 30 s by default, "less where the space's longest is less"
TEST_F(ManagerFaults, TheDefaultLeaseIsNoLongerThanTheSpaceAllows) {
  Locks locks = open_locks();
  ASSERT_TRUE(locks.set_max_lease(5s));
  const Result<Hold> hold = locks.acquire({write("a")});
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_EQ(hold->lease(), 5s);
}

// --- deadlines ---

// SEM 13: even if the store may otherwise take longer
TEST_F(ManagerFaults, AnAttemptEndsSoonAfterTheWait) {
  Locks locks = open_locks({.io_timeout = 10min});
  std::optional<Duration> left;
  hooks_->acquire = [&](Backend&, const AcquireRequest& request) -> Result<AcquireOutcome> {
    left = request.by - BootClock::now();
    return Error{Errc::invalid, "enough"};
  };
  EXPECT_FALSE(locks.acquire({write("a")}, {.wait = 200ms}));
  ASSERT_TRUE(left);
  EXPECT_LE(*left, 200ms + 1s) << "the last try has a second for its way";
}

// SEM 13
TEST_F(ManagerFaults, SoDoesTheQuestionForALostReply) {
  Locks locks = open_locks({.io_timeout = 10min});
  hooks_->acquire = [&](Backend&, const AcquireRequest&) -> Result<AcquireOutcome> { return lost; };
  std::optional<Duration> left;
  hooks_->resolve = [&](Backend&, const HoldRef&,
                        const TimePoint& by) -> Result<std::optional<Grant>> {
    if (!left) left = by - BootClock::now();  // later requests come from the background
    return Error{Errc::invalid, "enough"};
  };
  EXPECT_FALSE(locks.acquire({write("a")}, {.wait = 200ms}));
  hooks_->set(&Hooks::resolve, {});
  ASSERT_TRUE(left);
  EXPECT_LE(*left, 200ms + 1s);
}

// --- validity ---

// SEM 10: the store may have begun to count when the request was sent
TEST_F(ManagerFaultsInTime, AGrantCountsFromItsRequest) {
  Locks locks = open_locks({.lease = 10s});
  const TimePoint sent = clock_.now();
  hooks_->acquire = [&](Backend& store, const AcquireRequest& request) {
    Result<AcquireOutcome> outcome = store.try_acquire(request);
    clock_.advance(2s);
    return outcome;
  };
  const Hold hold = locks.acquire({write("a")}).value();
  EXPECT_EQ(hold.valid_until(), sent + 9s);
}

// SEM 10
TEST_F(ManagerFaultsInTime, ARenewalByStampCountsFromItsRequest) {
  Locks locks = open_locks({.lease = 10s});
  const Hold hold = locks.acquire({write("a")}).value();
  const std::thread::id here = std::this_thread::get_id();
  hooks_->set(
      &Hooks::renew,
      [&, here](Backend& store, const Owner& owner, const std::span<const RenewRequest>& requests,
                const TimePoint& by) -> Result<RenewReply> {
        if (std::this_thread::get_id() != here) return down;
        Result<RenewReply> reply = store.renew(owner, requests, by);
        clock_.advance(2s);
        return reply;
      });
  const TimePoint sent = clock_.now();
  ASSERT_TRUE(locks.renew_locks(hold.stamp(), 20s));
  EXPECT_EQ(hold.valid_until(), sent + 18s);
}

// SEM 10: a hold that the client has given up is not renewed in the store
TEST_F(ManagerFaultsInTime, ALostHoldIsNotRenewedByHand) {
  Locks locks = open_locks({.lease = 10s});
  Hold hold = locks.acquire({write("a")}).value();
  const std::thread::id here = std::this_thread::get_id();
  std::atomic<int> asked = 0;
  hooks_->set(&Hooks::renew,
              [&, here](Backend&, const Owner&, const std::span<const RenewRequest>&,
                        const TimePoint&) -> Result<RenewReply> {
                if (std::this_thread::get_id() == here) ++asked;
                return down;
              });
  clock_.advance(9s + 500ms);
  EXPECT_FALSE(hold.valid());
  EXPECT_EQ(hold.renew().error().code, Errc::not_held);
  EXPECT_EQ(asked, 0);
}

// SEM 11, 14: nobody would release it otherwise
TEST_F(ManagerFaultsInTime, WhatIsRenewedInTheStoreAndLostHereIsReleased) {
  Locks locks = open_locks({.lease = 10s});
  Hold hold = locks.acquire({write("a")}).value();
  const std::thread::id here = std::this_thread::get_id();
  hooks_->set(
      &Hooks::renew,
      [&, here](Backend& store, const Owner& owner, const std::span<const RenewRequest>& requests,
                const TimePoint& by) -> Result<RenewReply> {
        if (std::this_thread::get_id() != here) return down;
        Result<RenewReply> reply = store.renew(owner, requests, by);
        clock_.advance(9s + 500ms);  // the lease of the store ends after 10 s
        return reply;
      });
  EXPECT_EQ(hold.renew().error().code, Errc::not_held);
  EXPECT_TRUE(gets_free("a")) << "with the clock at rest nothing expires";
}

// SEM 10: the store answers for fewer holds than requested
TEST_F(ManagerFaults, AnAnswerOfTheWrongLengthIsNoAnswer) {
  Locks locks = open_locks();
  Hold hold = locks.acquire({write("a")}).value();
  hooks_->set(&Hooks::renew,
              [](Backend&, const Owner&, const std::span<const RenewRequest>&,
                 const TimePoint&) -> Result<RenewReply> { return RenewReply{}; });
  const Status renewed = hold.renew();
  ASSERT_FALSE(renewed);
  EXPECT_EQ(renewed.error().code, Errc::internal);
  EXPECT_TRUE(hold.valid());
}

// SEM 10: there are more of them than one call may contain
TEST_F(ManagerFaultsInTime, EachChunkIsRenewed) {
  hooks_->renew_chunk = 2;
  Locks locks = open_locks({.lease = 30s});
  std::vector<Hold> held;
  for (int i = 0; i < 5; ++i) {
    held.push_back(locks.acquire({write("n" + std::to_string(i))}).value());
  }
  const TimePoint end = held.front().valid_until();
  clock_.advance(15s);
  for (const Hold& hold : held) {
    EXPECT_TRUE(eventually([&] { return hold.valid_until() > end; })) << hold.items()[0].name;
  }
}

// --- releases ---

// SEM 9, last sentence: another client may have held it since
TEST_F(ManagerFaultsInTime, ALostReplyOfAReleaseIsNoSuccessAfterTheEndOfValidity) {
  Locks locks = open_locks({.lease = 10s});
  Hold hold = locks.acquire({write("a")}).value();
  hooks_->set(&Hooks::release,
              [&, calls = std::make_shared<std::atomic<int>>(0)](
                  Backend& store, const HoldRef& ended_hold, const std::string_view& app,
                  const TimePoint& by) -> Result<bool> {
                Result<bool> ended = store.release(ended_hold, app, by);
                if (calls->fetch_add(1) > 0) return ended;
                clock_.advance(1min);
                return lost;
              });
  const Status released = hold.release();
  ASSERT_FALSE(released);
  EXPECT_EQ(released.error().code, Errc::not_held);
}

// SEM 14
TEST_F(ManagerFaults, AReleaseThatFailedIsDoneLater) {
  Locks locks = open_locks({.lease = 10min, .io_timeout = 50ms});
  Hold hold = locks.acquire({write("a")}).value();
  hooks_->set(&Hooks::release,
              [](Backend&, const HoldRef&, const std::string_view&,
                 const TimePoint&) -> Result<bool> { return down; });
  EXPECT_EQ(hold.release().error().code, Errc::unavailable);
  EXPECT_EQ(holds("a").size(), 1U);
  hooks_->set(&Hooks::release, {});
  EXPECT_TRUE(gets_free("a"));
}

// SEM 11: no lease would ever end it
TEST_F(ManagerFaults, AReleaseOfAPermanentHoldThatFailedIsDoneByClosing) {
  auto locks = std::make_unique<Locks>(open_locks());
  Hold hold = locks->acquire({write("a")}, {.lease = no_lease}).value();
  hooks_->set(&Hooks::release,
              [](Backend&, const HoldRef&, const std::string_view&,
                 const TimePoint&) -> Result<bool> { return down; });
  EXPECT_EQ(hold.release().error().code, Errc::unavailable);
  hooks_->set(&Hooks::release, {});
  locks.reset();
  EXPECT_TRUE(holds("a").empty());
}

// SEM 14: the grant is useless, and the store does not take it back at once
TEST_F(ManagerFaults, AGrantThatCouldNotBeGivenBackIsReleasedLater) {
  Locks locks = open_locks({.app = "svc", .reclaim = true, .lease = 3s});
  hooks_->set(&Hooks::acquire,
              [&](Backend& store, const AcquireRequest& request) -> Result<AcquireOutcome> {
                Result<AcquireOutcome> outcome = store.try_acquire(request);
                break_all("@app:svc");
                EXPECT_TRUE(eventually([&] { return !losses_->reason("@app:svc").empty(); }));
                return outcome;
              });
  hooks_->set(&Hooks::release,
              [done = std::make_shared<std::atomic<int>>(0)](
                  Backend& store, const HoldRef& ended_hold, const std::string_view& app,
                  const TimePoint& by) -> Result<bool> {
                if (done->fetch_add(1) == 0) return down;
                return store.release(ended_hold, app, by);
              });
  const Result<Hold> hold = locks.acquire({write("b")}, {.lease = 10min});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::superseded);
  EXPECT_TRUE(gets_free("b"));
}

// SEM 11, 14: otherwise its lease would never end
TEST_F(ManagerFaults, AHoldThatPerhapsBecamePermanentIsReleasedWhenTheStoreIsBack) {
  Locks locks = open_locks({.io_timeout = 50ms});
  locks.set_max_lease(1s).value();
  hooks_->set(&Hooks::renew,
              [](Backend& store, const Owner& owner, const std::span<const RenewRequest>& requests,
                 const TimePoint& by) -> Result<RenewReply> {
                static_cast<void>(store.renew(owner, requests, by).ok());
                return lost;
              });
  hooks_->set(&Hooks::release,
              [](Backend&, const HoldRef&, const std::string_view&,
                 const TimePoint&) -> Result<bool> { return down; });
  const Result<Hold> hold = locks.acquire({write("a")}, {.lease = no_lease});
  ASSERT_FALSE(hold);
  EXPECT_EQ(hold.error().code, Errc::indeterminate);
  ASSERT_EQ(holds("a").size(), 1U);
  EXPECT_FALSE(holds("a").front().remaining) << "permanent";
  hooks_->set(&Hooks::release, {});
  EXPECT_TRUE(gets_free("a"));
}

// SEM 14: the attempt arrives after the client looked for it
TEST_F(ManagerFaults, ALateGrantIsFoundAndReleased) {
  const auto network = std::make_shared<test::FaultyBackend>(store(), 1);
  Locks locks = open(std::make_unique<Hooked>(network, hooks_), {.app = "app"}).value();
  network->script(test::Call::try_acquire, test::Fault::delay);
  const Stamp stamp = locks.try_locks({write("a")}, {.lease = 10min}).value();
  ASSERT_TRUE(stamp);
  ASSERT_TRUE(locks.release_locks(stamp));
  // First by the acquire, then in the background.
  ASSERT_TRUE(eventually([&] { return network->calls(test::Call::resolve) >= 2; }));
  ASSERT_EQ(network->deliver_late(), 1U);
  EXPECT_TRUE(gets_free("a"));
}

// --- closing ---

// SEM 10: no thread had noticed the end of validity, because both were busy
TEST_F(ManagerFaultsInTime, ClosingTellsALossThatNobodyNoticed) {
  auto locks = std::make_unique<Locks>(open_locks());
  const Hold first = locks->acquire({write("first")}, {.lease = 10s}).value();
  const Hold second = locks->acquire({write("second")}, {.lease = 60s}).value();
  const std::thread::id here = std::this_thread::get_id();
  Once renewer_waits;
  Once watchdog_waits;
  Once go_on;
  hooks_->set(&Hooks::renew,
              [&](Backend&, const Owner&, const std::span<const RenewRequest>& requests,
                  const TimePoint&) -> Result<RenewReply> {
                if (std::this_thread::get_id() == here) return down;
                EXPECT_EQ(requests.size(), 1U) << "the second is not due";
                renewer_waits.open();
                EXPECT_TRUE(go_on.pass());
                return down;
              });
  const std::stop_callback busy(first.lost(), [&] {
    watchdog_waits.open();
    EXPECT_TRUE(go_on.pass());
  });
  std::atomic<bool> told = false;
  const std::stop_callback on_loss(second.lost(), [&] { told = true; });
  clock_.advance(5s);  // the renewal of the first is due
  ASSERT_TRUE(renewer_waits.pass());
  clock_.advance(5s);  // and now it is lost
  ASSERT_TRUE(watchdog_waits.pass());
  clock_.advance(50s);
  Hold other = locks->acquire({write("other")}).value();
  std::thread closing([&] { locks.reset(); });
  EXPECT_TRUE(eventually([&] {
    const Status status = other.renew();
    return !status && status.error().message.find("closed") != std::string::npos;
  }));
  go_on.open();
  closing.join();
  EXPECT_TRUE(told);
  EXPECT_EQ(second.lost_reason(), LostReason::expired);
}

// --- housekeeping ---

// SEM 10: no client asks for the names any more
TEST_F(ManagerFaults, WhoHoldsSomethingSweeps) {
  std::atomic<int> sweeps = 0;
  hooks_->sweep = [&](Backend& store, const TimePoint& by) {
    ++sweeps;
    return store.sweep(by);
  };
  Hooked backend(store(), hooks_);
  const Owner owner{"app", "instance", 0, "label"};
  ConfigCache config;
  Keeper::Settings settings;
  settings.io_timeout = 5s;
  settings.refresh_config = 5ms;
  settings.sweep_every = 10ms;
  Keeper keeper(backend, owner, config, settings);
  ASSERT_TRUE(keeper.start());
  const TimePoint now = BootClock::now();
  const KnownHold known{LockSet::make({write("a")}).value(), owner, Token::random(), Stamp{1}};
  keeper.add(std::make_shared<HoldState>(HoldState::Made{known, {}, 1min, now, 1min, {}, {}}),
             {now, now, 0});
  EXPECT_TRUE(eventually([&] { return sweeps >= 2; }));
}

// SEM 10: a store that lost the hold too must not register it again
TEST_F(ManagerFaults, ALostHoldIsRenewedByItsStampAlone) {
  Locks locks = open_locks({.lease = 10min});
  Hold hold = locks.acquire({write("a")}).value();
  std::atomic<bool> known = false;
  hooks_->set(&Hooks::renew,
              [&](Backend& store, const Owner& owner, const std::span<const RenewRequest>& requests,
                  const TimePoint& by) -> Result<RenewReply> {
                known = requests.front().hold.known();
                return store.renew(owner, requests, by);
              });
  EXPECT_TRUE(locks.renew_locks(hold.stamp(), 10min));
  EXPECT_TRUE(known);
  break_all("a");
  EXPECT_FALSE(hold.renew());
  ASSERT_FALSE(hold.valid());
  EXPECT_FALSE(locks.renew_locks(hold.stamp(), 10min));
  EXPECT_FALSE(known);
}

// SEM 10: a loss that is noticed while the client closes is reported, too
TEST_F(ManagerFaults, ALossIsToldAlthoughTheClientCloses) {
  std::optional<Locks> locks = open_locks({.lease = 10min});
  Hold first = locks->acquire({write("a")}).value();
  Hold second = locks->acquire({write("b")}).value();
  Once within;
  Once leave;
  const std::stop_callback slow(first.lost(), [&] {
    within.open();
    EXPECT_TRUE(leave.pass());
  });
  const std::stop_token told = second.lost();
  break_all("a");
  break_all("b");
  EXPECT_FALSE(first.renew());
  ASSERT_TRUE(within.pass());
  EXPECT_FALSE(second.renew()) << "the thread that tells of losses is busy";
  std::thread closing([&] { locks.reset(); });
  EXPECT_TRUE(eventually([&] { return second.renew().error().code == Errc::invalid; }));
  leave.open();
  closing.join();
  EXPECT_TRUE(told.stop_requested());
}

}  // namespace
}  // namespace lockset
