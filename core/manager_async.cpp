// Acquires and releases that hold no thread while they wait. ADR 0070.
#include <algorithm>
#include <utility>

#include "core/manager_call.h"
#include "core/tasks.h"
#include "core/time_math.h"

namespace lockset {
namespace {

// How long a waiter that was woken may look at the reason: ZooKeeper's ask the store.
constexpr Duration look_time = std::chrono::milliseconds(20);

Error locks_destroyed(std::string_view what) {
  return {Errc::cancelled, std::string(what) + " was ended: its Locks was destroyed"};
}

}  // namespace

class Manager::AcquireTask final : public Task {
 public:
  using Done = std::function<void(Result<std::shared_ptr<HoldState>>)>;

  AcquireTask(Manager& manager, LockSet set, AcquireOptions options, Done done)
      : manager_(manager),
        set_(std::move(set)),
        options_(std::move(options)),
        done_(std::move(done)),
        random_(thread_random().next()) {}

  Status prepare() { return manager_.prepare(call_, labelled_, set_, options_, false, random_); }

  void fail(Error error) { std::exchange(done_, nullptr)(std::move(error)); }

  TimePoint step(bool closing) override {
    AcquireLoop::Action next = closing ? end() : has_begun_ ? waited() : begin();
    next = manager_.until_wait(*call_, std::move(next));
    if (const auto* wait = std::get_if<AcquireLoop::Wait>(&next)) {
      wait_ = *wait;
      waits_since_ = call_->now;
      return wait_.until;
    }
    auto result = manager_.finish(*call_, std::move(std::get<AcquireLoop::Finish>(next)));
    if (!result && manager_.closed_) result = locks_destroyed("the acquire");
    std::exchange(done_, nullptr)(std::move(result));
    return TimePoint::min();
  }

  bool is_due() override { return call_->stop.stop_requested() || is_woken(); }

 private:
  bool is_woken() {
    return wait_.for_change && call_->ticket &&
           manager_.backend_->has_changed(*call_->ticket, waits_since_);
  }
  AcquireLoop::Action begin() {
    has_begun_ = true;
    return call_->loop.begin(call_->read_clock());
  }
  AcquireLoop::Action waited() {
    if (is_woken()) {
      const TimePoint until = std::min(wait_.until, later(BootClock::now(), look_time));
      static_cast<void>(manager_.backend_->await_change(*call_->ticket, until, call_->stop).ok());
    }
    return call_->loop.waited(call_->read_clock());
  }
  AcquireLoop::Action end() {
    call_->goodbye_by = manager_.closing_by_;
    return AcquireLoop::Finish(locks_destroyed("the acquire"));
  }

  Manager& manager_;
  const LockSet set_;
  const AcquireOptions options_;
  Done done_;
  Random random_;
  std::optional<Owner> labelled_;
  std::optional<Call> call_;
  bool has_begun_ = false;
  AcquireLoop::Wait wait_;
  TimePoint waits_since_;
};

class Manager::ReleaseTask final : public Task {
 public:
  ReleaseTask(Manager& manager, std::shared_ptr<HoldState> hold, std::function<void(Status)> done)
      : manager_(manager), hold_(std::move(hold)), done_(std::move(done)) {}

  TimePoint step(bool closing) override {
    // close() releases it, together with the others.
    Status status = closing ? Status(locks_destroyed("the release")) : manager_.release(*hold_);
    std::exchange(done_, nullptr)(std::move(status));
    return TimePoint::min();
  }

  bool is_due() override { return true; }

 private:
  Manager& manager_;
  const std::shared_ptr<HoldState> hold_;
  std::function<void(Status)> done_;
};

void Manager::start_acquire(const LockSet& set, const AcquireOptions& options,
                            std::function<void(Result<std::shared_ptr<HoldState>>)> done) {
  const auto task = std::make_shared<AcquireTask>(*this, set, options, std::move(done));
  if (Status status = task->prepare(); !status) return task->fail(std::move(status).error());
  if (tasks_.add(task)) return;
  task->fail(closed_ ? locks_destroyed("the acquire")
                     : Error{Errc::unavailable, "the system has no thread left for an acquire"});
}

void Manager::start_release(std::shared_ptr<HoldState> hold, std::function<void(Status)> done) {
  if (closed_) return done(locks_destroyed("the release"));  // which releases it
  // Before acquires: others wait for it.
  const auto task = std::make_shared<ReleaseTask>(*this, std::move(hold), std::move(done));
  if (!tasks_.add(task, Tasks::Place::front)) task->step(closed_);
}

}  // namespace lockset
