// Mistakes about upgrades and downgrades: semantics 29 and 30.
#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"
#include "tests/support/wait.h"

namespace lockset::broken {
namespace {

using std::chrono::microseconds;

AcquireRequest without_replaces(const AcquireRequest& request) {
  AcquireRequest other = request;
  other.replaces = nullptr;
  return other;
}

// A release and an acquire, where both have to be one step.
class ConvertedInTwoSteps final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (request.replaces == nullptr) return inner().try_acquire(request);
    const Result<bool> released =
        inner().release(*request.replaces, request.owner->app, request.by);
    if (!released) return released.error();
    if (!*released) return AcquireOutcome(Gone{});
    test::linger(microseconds(50));  // a round trip
    return inner().try_acquire(without_replaces(request));
  }
};

class GoneIsGranted final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    const bool gone = outcome && std::holds_alternative<Gone>(*outcome);
    return gone ? inner().try_acquire(without_replaces(request)) : std::move(outcome);
  }
};

// Who released and renewed it before may go on doing so.
class OldStampLivesOn final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    const Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant == nullptr || request.replaces == nullptr) return outcome;
    const std::lock_guard lock(mutex_);
    now_[request.replaces->stamp] = grant->stamp;
    return outcome;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return inner().release(now(hold), app, by);
  }

 private:
  HoldRef now(const HoldRef& hold) {
    const std::lock_guard lock(mutex_);
    const auto found = now_.find(hold.stamp);
    return found == now_.end() ? hold : HoldRef(found->second);
  }
  std::mutex mutex_;
  std::map<Stamp, Stamp> now_;
};

class UpgradeIgnoresApplication final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (request.replaces == nullptr) return inner().try_acquire(request);
    const Result<Inspection> all = inner().inspect({}, request.by);
    if (!all) return all.error();
    Owner owner = *request.owner;
    for (const HoldInfo& hold : all->holds) {
      if (hold.stamp == request.replaces->stamp) owner.app = hold.owner.app;
    }
    AcquireRequest other = request;
    other.owner = &owner;
    return inner().try_acquire(other);
  }
};

class UpgradePassesTheLine final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    if (request.replaces != nullptr) other.max_overtakes = unlimited_overtakes;
    return inner().try_acquire(other);
  }
};

class ConversionShortensTheLease final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant != nullptr && request.replaces != nullptr) grant->lease = request.lease;
    return outcome;
  }
};

}  // namespace

std::shared_ptr<Backend> conversion_shortens_the_lease(std::shared_ptr<Backend> sound) {
  return std::make_shared<ConversionShortensTheLease>(std::move(sound));
}
std::shared_ptr<Backend> converted_in_two_steps(std::shared_ptr<Backend> sound) {
  return std::make_shared<ConvertedInTwoSteps>(std::move(sound));
}
std::shared_ptr<Backend> gone_is_granted(std::shared_ptr<Backend> sound) {
  return std::make_shared<GoneIsGranted>(std::move(sound));
}
std::shared_ptr<Backend> old_stamp_lives_on(std::shared_ptr<Backend> sound) {
  return std::make_shared<OldStampLivesOn>(std::move(sound));
}
std::shared_ptr<Backend> upgrade_ignores_application(std::shared_ptr<Backend> sound) {
  return std::make_shared<UpgradeIgnoresApplication>(std::move(sound));
}
std::shared_ptr<Backend> upgrade_passes_the_line(std::shared_ptr<Backend> sound) {
  return std::make_shared<UpgradePassesTheLine>(std::move(sound));
}

}  // namespace lockset::broken
