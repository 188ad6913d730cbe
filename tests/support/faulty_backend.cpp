#include "tests/support/faulty_backend.h"

#include <utility>

#include "lockset/forwarding_backend.h"
#include "tests/support/seed.h"
#include "tests/support/wait.h"

namespace lockset::test {

namespace {

Error before() { return {Errc::unavailable, "injected: the store could not be reached"}; }
Error lost() { return {Errc::indeterminate, "injected: the reply was lost"}; }

// An AcquireRequest that owns what the original points to.
struct OwnedRequest {
  explicit OwnedRequest(const AcquireRequest& original)
      : set(*original.set),
        permits(original.permits.begin(), original.permits.end()),
        unchanged_since(original.unchanged_since.begin(), original.unchanged_since.end()),
        owner(*original.owner),
        request(original) {
    if (original.replaces != nullptr)
      replaces = original.replaces->stamp;  // the rest is the caller's
    // The waiter is gone when the request arrives.
    request.ticket = nullptr;
    request.will_wait = false;
  }

  void deliver(Backend& store) {
    request.set = &set;
    request.permits = permits;
    request.unchanged_since = unchanged_since;
    request.owner = &owner;
    if (request.replaces != nullptr) request.replaces = &replaces;
    request.by = soon();
    (void)store.try_acquire(request);
  }

  LockSet set;
  std::vector<std::uint32_t> permits;
  std::vector<Expected> unchanged_since;
  Owner owner;
  HoldRef replaces;
  AcquireRequest request;
};

}  // namespace

FaultyBackend::FaultyBackend(std::shared_ptr<Backend> inner, std::uint64_t seed)
    : ForwardingBackend(std::move(inner)), seed_(seed), dice_(seed) {}

void FaultyBackend::set_rates(const FaultRates& rates) {
  const std::lock_guard lock(mutex_);
  rates_.fill(rates);
}

void FaultyBackend::set_rates(Call call, const FaultRates& rates) {
  const std::lock_guard lock(mutex_);
  rates_.at(static_cast<std::size_t>(call)) = rates;
}

void FaultyBackend::script(Call call, Fault fault) {
  const std::lock_guard lock(mutex_);
  scripts_[call].push_back(fault);
}

void FaultyBackend::deliver_by_itself(bool on) {
  const std::lock_guard lock(mutex_);
  deliver_by_itself_ = on;
}

std::size_t FaultyBackend::deliver_late() {
  std::vector<std::function<void()>> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(late_);
  }
  for (const std::function<void()>& request : due) request();
  return due.size();
}

std::size_t FaultyBackend::calls(Call call) const {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(call);
  return found == calls_.end() ? 0 : found->second;
}

std::size_t FaultyBackend::injected(Fault fault) const {
  const std::lock_guard lock(mutex_);
  const auto found = injected_.find(fault);
  return found == injected_.end() ? 0 : found->second;
}

std::string FaultyBackend::describe() const {
  return describe_seed(seed_) + ": failed before " + std::to_string(injected(Fault::fail_before)) +
         ", lost replies " + std::to_string(injected(Fault::lose_reply)) + ", delayed " +
         std::to_string(injected(Fault::delay)) + ", duplicated " +
         std::to_string(injected(Fault::duplicate));
}

Fault FaultyBackend::next_fault(Call call) {
  const std::lock_guard lock(mutex_);
  ++calls_[call];
  Fault fault = Fault::none;
  if (std::deque<Fault>& script = scripts_[call]; !script.empty()) {
    fault = script.front();
    script.pop_front();
  } else {
    const FaultRates& rates = rates_.at(static_cast<std::size_t>(call));
    double left = std::uniform_real_distribution<double>(0, 1)(dice_);
    const std::pair<Fault, double> choices[] = {{Fault::fail_before, rates.fail_before},
                                                {Fault::lose_reply, rates.lose_reply},
                                                {Fault::delay, rates.delay},
                                                {Fault::duplicate, rates.duplicate}};
    for (const auto& [choice, rate] : choices) {
      if (left < rate) {
        fault = choice;
        break;
      }
      left -= rate;
    }
  }
  if (fault != Fault::none) ++injected_[fault];
  return fault;
}

void FaultyBackend::postpone(std::function<void()> request) {
  const std::lock_guard lock(mutex_);
  late_.push_back(std::move(request));
}

// `later` makes the request again, when nobody waits for its answer.
template <class Apply, class Later>
auto FaultyBackend::changing(Call call, Apply apply, Later later) -> decltype(apply()) {
  const bool deliver = [&] {
    const std::lock_guard lock(mutex_);
    return deliver_by_itself_;
  }();
  if (deliver) deliver_late();
  switch (next_fault(call)) {
    case Fault::none:
      return apply();
    case Fault::fail_before:
      return before();
    case Fault::lose_reply:
      (void)apply();
      return lost();
    case Fault::delay:
      postpone(later());
      return lost();
    case Fault::duplicate:
      (void)apply();
      return apply();
  }
  return apply();
}

// A call that changes nothing can't be half done: any failure is unavailable.
template <class Apply>
auto FaultyBackend::reading(Call call, Apply apply) -> decltype(apply()) {
  switch (next_fault(call)) {
    case Fault::none:
      return apply();
    case Fault::duplicate:
      (void)apply();
      return apply();
    case Fault::lose_reply:
      (void)apply();
      return before();
    case Fault::fail_before:
    case Fault::delay:
      return before();
  }
  return apply();
}

Result<AcquireOutcome> FaultyBackend::try_acquire(const AcquireRequest& request) {
  return changing(
      Call::try_acquire, [&] { return inner().try_acquire(request); },
      [&]() -> std::function<void()> {
        return [this, copy = std::make_shared<OwnedRequest>(request)] { copy->deliver(inner()); };
      });
}

Result<std::optional<Grant>> FaultyBackend::resolve(const HoldRef& attempt, TimePoint by) {
  return reading(Call::resolve, [&] { return inner().resolve(attempt, by); });
}

Result<RenewReply> FaultyBackend::renew(const Owner& owner, std::span<const RenewRequest> requests,
                                        TimePoint by) {
  return changing(
      Call::renew, [&] { return inner().renew(owner, requests, by); },
      [&]() -> std::function<void()> {
        std::vector<RenewRequest> copies(requests.begin(), requests.end());
        for (RenewRequest& copy : copies) copy.hold = copy.hold.stamp;  // the rest is the caller's
        return [this, owner, copies] { (void)inner().renew(owner, copies, soon()); };
      });
}

Result<bool> FaultyBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return changing(
      Call::release, [&] { return inner().release(hold, app, by); },
      [&]() -> std::function<void()> {
        return [this, stamp = hold.stamp, owner = std::string(app)] {
          (void)inner().release(stamp, owner, soon());
        };
      });
}

Result<bool> FaultyBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return changing(
      Call::break_hold, [&] { return inner().break_hold(hold, by); },
      [&]() -> std::function<void()> {
        return [this, stamp = hold.stamp] { (void)inner().break_hold(stamp, soon()); };
      });
}

Status FaultyBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  return reading(Call::await_change, [&] { return inner().await_change(ticket, until, stop); });
}

Result<Inspection> FaultyBackend::inspect(const InspectQuery& query, TimePoint by) {
  return reading(Call::inspect, [&] { return inner().inspect(query, by); });
}

Result<SpaceConfig> FaultyBackend::load_config(TimePoint by) {
  return reading(Call::load_config, [&] { return inner().load_config(by); });
}

Result<SpaceConfig> FaultyBackend::change_config(const ConfigChange& change, TimePoint by) {
  return changing(
      Call::change_config, [&] { return inner().change_config(change, by); },
      [&]() -> std::function<void()> {
        return [this, change] { (void)inner().change_config(change, soon()); };
      });
}

Result<std::size_t> FaultyBackend::reclaim(std::string_view app, std::int64_t epoch, TimePoint by) {
  return changing(
      Call::reclaim, [&] { return inner().reclaim(app, epoch, by); },
      [&]() -> std::function<void()> {
        return [this, epoch, owner = std::string(app)] {
          (void)inner().reclaim(owner, epoch, soon());
        };
      });
}

// What it may have changed matters to nobody.
Result<ObserveOutcome> FaultyBackend::observe(const ObserveRequest& request) {
  return reading(Call::observe, [&] { return inner().observe(request); });
}

Result<std::size_t> FaultyBackend::sweep(TimePoint by) {
  return changing(
      Call::sweep, [&] { return inner().sweep(by); },
      [&]() -> std::function<void()> { return [this] { (void)inner().sweep(soon()); }; });
}

}  // namespace lockset::test
