// Holds that the wrong caller can end or renew.
#include <limits>
#include <mutex>
#include <set>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"

namespace lockset::broken {

namespace {

class ReleaseIgnoresApplication final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<bool> release(const HoldRef& hold, std::string_view, TimePoint by) override {
    return inner().break_hold(hold, by);
  }
};

// "Gone is gone": true for any stamp that was once released.
class ReleaseSucceedsTwice final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    Result<bool> released = inner().release(hold, app, by);
    if (!released) return released;
    const std::lock_guard lock(mutex_);
    if (*released) released_.insert(hold.stamp);
    return released_.contains(hold.stamp);
  }

 private:
  std::mutex mutex_;
  std::set<Stamp> released_;
};

class RenewalIgnoresApplication final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<Inspection> all = inner().inspect({}, by);
    if (!all) return all.error();
    RenewReply reply;
    for (const RenewRequest& request : requests) {
      Owner other = owner;
      for (const HoldInfo& hold : all->holds) {
        if (hold.stamp == request.hold.stamp) other = hold.owner;
      }
      Result<RenewReply> one = inner().renew(other, {&request, 1}, by);
      if (!one) return one;
      reply.renewals.push_back(one->renewals.at(0));
      reply.store_time_us = one->store_time_us;
    }
    return reply;
  }
};

// Breaks any other hold if the stamp is not held.
class BreakIgnoresStamp final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override {
    Result<bool> broken = inner().break_hold(hold, by);
    if (!broken || *broken) return broken;
    const Result<Inspection> all = inner().inspect({}, by);
    if (!all || all->holds.empty()) return false;
    return inner().break_hold(all->holds.front().stamp, by);
  }
};

// Ends nothing: the store treats every hold as one of the newest epoch.
class ReclaimKeepsLowerEpochs final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Owner owner = *request.owner;
    owner.epoch = std::numeric_limits<std::int64_t>::max();
    AcquireRequest other = request;
    other.owner = &owner;
    return inner().try_acquire(other);
  }
};

}  // namespace

std::shared_ptr<Backend> release_ignores_application(std::shared_ptr<Backend> sound) {
  return std::make_shared<ReleaseIgnoresApplication>(std::move(sound));
}
std::shared_ptr<Backend> release_succeeds_twice(std::shared_ptr<Backend> sound) {
  return std::make_shared<ReleaseSucceedsTwice>(std::move(sound));
}
std::shared_ptr<Backend> renewal_ignores_application(std::shared_ptr<Backend> sound) {
  return std::make_shared<RenewalIgnoresApplication>(std::move(sound));
}
std::shared_ptr<Backend> break_ignores_stamp(std::shared_ptr<Backend> sound) {
  return std::make_shared<BreakIgnoresStamp>(std::move(sound));
}
std::shared_ptr<Backend> reclaim_keeps_lower_epochs(std::shared_ptr<Backend> sound) {
  return std::make_shared<ReclaimKeepsLowerEpochs>(std::move(sound));
}

}  // namespace lockset::broken
