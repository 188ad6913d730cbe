// Stamps that can't serve as fencing tokens.
#include <algorithm>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"

namespace lockset::broken {

namespace {

// Every later stamp is smaller. The mapping is its own inverse.
class StampGoesBack final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.min_stamp = {};
    Result<AcquireOutcome> outcome = inner().try_acquire(other);
    if (!outcome) return outcome;
    if (Grant* grant = std::get_if<Grant>(&*outcome)) turn(*grant);
    if (Busy* busy = std::get_if<Busy>(&*outcome)) busy->holder = turned(busy->holder);
    return outcome;
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    Result<std::optional<Grant>> found = inner().resolve(attempt, by);
    if (found && *found) turn(**found);
    return found;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    std::vector<RenewRequest> others(requests.begin(), requests.end());
    for (RenewRequest& one : others) one.hold = turned(one.hold.stamp);
    return inner().renew(owner, others, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return inner().release(turned(hold.stamp), app, by);
  }
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override {
    return inner().break_hold(turned(hold.stamp), by);
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> all = inner().inspect(query, by);
    if (all) {
      for (HoldInfo& hold : all->holds) hold.stamp = turned(hold.stamp);
    }
    return all;
  }

 private:
  static Stamp turned(Stamp stamp) { return {(std::int64_t{1} << 62) - stamp.value}; }
  static void turn(Grant& grant) {
    grant.stamp = turned(grant.stamp);
    for (Stamp& floor : grant.floors) floor = turned(floor);
  }
};

class MinimumStampIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.min_stamp = {};
    return inner().try_acquire(other);
  }
};

// Only claims to have raised the base.
class StampBaseIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    if (const auto* raise = std::get_if<RaiseStampBase>(&change)) {
      Result<SpaceConfig> config = inner().change_config(RaiseStampBase{{0}}, by);
      if (config) config->stamp_base = std::max(config->stamp_base, raise->at_least);
      return config;
    }
    return inner().change_config(change, by);
  }
};

class FloorIsTheOwnStamp final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      for (Stamp& floor : grant->floors) floor = grant->stamp;
    }
    return outcome;
  }
};

}  // namespace

std::shared_ptr<Backend> stamp_goes_back(std::shared_ptr<Backend> sound) {
  return std::make_shared<StampGoesBack>(std::move(sound));
}
std::shared_ptr<Backend> minimum_stamp_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<MinimumStampIgnored>(std::move(sound));
}
std::shared_ptr<Backend> stamp_base_ignored(std::shared_ptr<Backend> sound) {
  return std::make_shared<StampBaseIgnored>(std::move(sound));
}
std::shared_ptr<Backend> floor_is_the_own_stamp(std::shared_ptr<Backend> sound) {
  return std::make_shared<FloorIsTheOwnStamp>(std::move(sound));
}

}  // namespace lockset::broken
