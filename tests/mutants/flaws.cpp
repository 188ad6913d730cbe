#include "tests/mutants/flaws.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "lockset/forwarding_backend.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::mutants {
namespace {

using namespace std::chrono_literals;

// Time for something to go wrong.
void dawdle() { std::this_thread::sleep_for(200us); }

// Clients see the test's own stamps, in the order of asking.
class StampBeforeTheLock final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    const Stamp drawn{++last_};
    if (drawn.value % 2 == 0) dawdle();
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (!outcome) return outcome;
    if (auto* grant = std::get_if<Grant>(&*outcome)) {
      const std::lock_guard lock(mutex_);
      inner_of_[drawn] = grant->stamp;
      drawn_of_[grant->stamp] = drawn;
      grant->stamp = drawn;
      for (Stamp& floor : grant->floors) floor = drawn_of_[floor];
    } else if (auto* busy = std::get_if<Busy>(&*outcome)) {
      const std::lock_guard lock(mutex_);
      busy->holder = drawn_of_[busy->holder];  // 0 if it is not known yet
    }
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    Stamp known;
    {
      const std::lock_guard lock(mutex_);
      known = inner_of_[hold.stamp];
    }
    return inner().release(known, app, by);
  }

 private:
  std::atomic<std::int64_t> last_{0};
  std::mutex mutex_;
  std::map<Stamp, Stamp> inner_of_;
  std::map<Stamp, Stamp> drawn_of_;
};

class ReleaseByName final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (const auto* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      const std::lock_guard lock(mutex_);
      name_of_[grant->stamp] = request.set->items().front().name;
    }
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    Result<bool> released = inner().release(hold, app, by);
    if (!released || *released) return released;
    InspectQuery query{InspectQuery::Match::name, {}};
    {
      const std::lock_guard lock(mutex_);
      query.text = name_of_[hold.stamp];
    }
    const Result<Inspection> found = inner().inspect(query, by);
    if (!found || found->holds.empty()) return released;
    return inner().break_hold(found->holds.front().stamp, by);
  }

 private:
  std::mutex mutex_;
  std::map<Stamp, std::string> name_of_;
};

class RenewalWithoutAsking final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner&, std::span<const RenewRequest> requests,
                           TimePoint) override {
    RenewReply reply;
    for (const RenewRequest& each : requests) reply.renewals.emplace_back(Renewal{each.lease});
    return reply;
  }
};

class BusyWithoutReason final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (++calls_ % 5 != 0) return inner().try_acquire(request);
    Busy busy;
    busy.name = request.set->items().front().name;
    return AcquireOutcome(std::move(busy));
  }

 private:
  std::atomic<int> calls_{0};
};

class WitnessOfBefore final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (auto* busy = outcome ? std::get_if<Busy>(&*outcome) : nullptr) {
      if (const Stamp before{released_}; before.value != 0) busy->holder = before;
    }
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    Result<bool> released = inner().release(hold, app, by);
    if (released && *released) released_ = hold.stamp.value;
    return released;
  }

 private:
  std::atomic<std::int64_t> released_{0};
};

class WaiterSleepsOn final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Status await_change(WaitTicket&, TimePoint, std::stop_token) override {
    std::this_thread::sleep_for(4s);  // longer than the rules of its test allow
    return {};
  }
};

template <class Flawed>
std::shared_ptr<Backend> made(std::shared_ptr<Backend> sound) {
  return std::make_shared<Flawed>(std::move(sound));
}

}  // namespace

std::shared_ptr<Backend> stamp_before_the_lock(std::shared_ptr<Backend> sound) {
  return made<StampBeforeTheLock>(std::move(sound));
}
std::shared_ptr<Backend> release_by_name(std::shared_ptr<Backend> sound) {
  return made<ReleaseByName>(std::move(sound));
}
std::shared_ptr<Backend> renewal_without_asking(std::shared_ptr<Backend> sound) {
  return made<RenewalWithoutAsking>(std::move(sound));
}
std::shared_ptr<Backend> busy_without_reason(std::shared_ptr<Backend> sound) {
  return made<BusyWithoutReason>(std::move(sound));
}
std::shared_ptr<Backend> witness_of_before(std::shared_ptr<Backend> sound) {
  return made<WitnessOfBefore>(std::move(sound));
}
std::shared_ptr<Backend> waiter_sleeps_on(std::shared_ptr<Backend> sound) {
  return made<WaiterSleepsOn>(std::move(sound));
}

}  // namespace lockset::mutants
