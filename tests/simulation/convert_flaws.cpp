#include "tests/simulation/convert_flaws.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/time_math.h"
#include "lockset/forwarding_backend.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;

AcquireRequest without_replaces(AcquireRequest request) {
  request.replaces = nullptr;
  return request;
}

// Both holds are there until the old one is released, or its lease ends.
class KeptReplaced final : public ForwardingBackend {
 public:
  KeptReplaced(std::unique_ptr<Backend> sound, World& world)
      : ForwardingBackend(std::move(sound)), world_(world) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (request.replaces == nullptr) return inner().try_acquire(request);
    const Result<Inspection> before = inner().inspect({}, request.by);
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (!outcome || !std::holds_alternative<Grant>(*outcome)) return outcome;
    for (const HoldInfo& hold : before->holds) {
      if (hold.stamp != request.replaces->stamp) continue;
      kept_[hold.stamp] = {hold, later(world_.now(), request.lease)};
    }
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      const auto kept = kept_.find(requests[i].hold.stamp);
      if (kept == kept_.end() || kept->second.until <= world_.now()) continue;
      kept->second.until = later(world_.now(), requests[i].lease);
      reply->renewals[i] = Renewal{requests[i].lease};
    }
    return reply;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    if (kept_.erase(hold.stamp) > 0) return true;
    return inner().release(hold, app, by);
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> all = inner().inspect(query, by);
    std::erase_if(kept_, [&](const auto& each) { return each.second.until <= world_.now(); });
    for (const auto& [stamp, each] : kept_) all->holds.push_back(each.hold);
    return all;
  }

 private:
  struct Kept {
    HoldInfo hold;
    TimePoint until;
  };
  World& world_;
  std::map<Stamp, Kept> kept_;
};

class EndedThoughRefused final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    const bool refused = outcome && std::holds_alternative<Busy>(*outcome);
    if (refused && request.replaces != nullptr) {
      static_cast<void>(inner().release(*request.replaces, request.owner->app, request.by).ok());
    }
    return outcome;
  }
};

// The holder gets its old stamp again.
class KeptStamps final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& asked) override {
    AcquireRequest request = asked;
    const HoldRef replaced = asked.replaces != nullptr ? real(*asked.replaces) : HoldRef();
    if (asked.replaces != nullptr) request.replaces = &replaced;
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant == nullptr || asked.replaces == nullptr) return outcome;
    real_[asked.replaces->stamp] = grant->stamp;
    grant->stamp = asked.replaces->stamp;
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    std::vector<RenewRequest> changed(requests.begin(), requests.end());
    for (RenewRequest& each : changed) each.hold = real(each.hold);
    return inner().renew(owner, changed, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return inner().release(real(hold), app, by);
  }

 private:
  HoldRef real(const HoldRef& hold) const {
    const auto at = real_.find(hold.stamp);
    return at == real_.end() ? HoldRef(hold.stamp) : HoldRef(at->second);
  }
  std::map<Stamp, Stamp> real_;
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

class UnfairUpgrades final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& asked) override {
    AcquireRequest request = asked;
    if (asked.replaces != nullptr) request.max_overtakes = unlimited_overtakes;
    return inner().try_acquire(request);
  }
};

// The new hold gets what was left of the old one's lease, without the renewals that were under way.
class OverlookedRenewals final : public ForwardingBackend {
 public:
  OverlookedRenewals(std::unique_ptr<Backend> sound, World& world)
      : ForwardingBackend(std::move(sound)), world_(world) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    expire();
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    Grant* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant == nullptr || grant->lease == Duration::max()) return outcome;
    const TimePoint now = world_.now();
    TimePoint end = now + grant->lease;
    const auto old =
        request.replaces != nullptr ? leases_.find(request.replaces->stamp) : leases_.end();
    if (old != leases_.end()) {
      const bool under_way = old->second.renewed + 300ms > now;
      end = under_way ? old->second.before : old->second.end;
      grant->lease = std::max<Duration>(end - now, 1ms);
    }
    leases_[grant->stamp] = {end, end, {}, old != leases_.end()};
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    expire();
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      const auto lease = leases_.find(requests[i].hold.stamp);
      if (lease == leases_.end() || !reply->renewals[i]) continue;
      const TimePoint end = later(world_.now(), reply->renewals[i]->lease);
      lease->second = {end, lease->second.end, world_.now(), false};
    }
    return reply;
  }
  Result<std::size_t> sweep(TimePoint by) override {
    expire();
    return inner().sweep(by);
  }

 private:
  struct Lease {
    TimePoint end;
    TimePoint before;  // without the last renewal
    TimePoint renewed;
    bool ends_early = false;  // earlier than the sound store would end it
  };
  void expire() {
    for (auto& [stamp, lease] : leases_) {
      if (!lease.ends_early || world_.now() < lease.end) continue;
      lease.ends_early = false;
      static_cast<void>(inner().break_hold(stamp, TimePoint::max()).ok());
    }
  }
  World& world_;
  std::map<Stamp, Lease> leases_;
};

}  // namespace

std::unique_ptr<Backend> with_convert_flaw(Flaw flaw, std::unique_ptr<Backend> sound,
                                           World& world) {
  switch (flaw) {
    case Flaw::kept_replaced:
      return std::make_unique<KeptReplaced>(std::move(sound), world);
    case Flaw::ended_though_refused:
      return std::make_unique<EndedThoughRefused>(std::move(sound));
    case Flaw::kept_stamps:
      return std::make_unique<KeptStamps>(std::move(sound));
    case Flaw::gone_is_granted:
      return std::make_unique<GoneIsGranted>(std::move(sound));
    case Flaw::unfair_upgrades:
      return std::make_unique<UnfairUpgrades>(std::move(sound));
    case Flaw::overlooked_renewals:
      return std::make_unique<OverlookedRenewals>(std::move(sound), world);
    default:
      return sound;
  }
}

}  // namespace lockset::simulation
