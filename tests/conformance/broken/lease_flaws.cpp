// Leases that end too early, too late, or not for good.
#include <map>
#include <mutex>
#include <optional>

#include "lockset/forwarding_backend.h"
#include "tests/conformance/broken/flaws.h"

namespace lockset::broken {

namespace {

// The store keeps a different lease than it reports.
class OtherLease : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.lease = kept(request.lease);
    Result<AcquireOutcome> outcome = inner().try_acquire(other);
    if (Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      grant->lease = request.lease;
    }
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    std::vector<RenewRequest> others(requests.begin(), requests.end());
    for (RenewRequest& one : others) one.lease = kept(one.lease);
    Result<RenewReply> reply = inner().renew(owner, others, by);
    for (std::size_t i = 0; reply && i < reply->renewals.size(); ++i) {
      if (reply->renewals[i]) reply->renewals[i]->lease = requests[i].lease;
    }
    return reply;
  }

 protected:
  [[nodiscard]] virtual Duration kept(Duration asked) const = 0;
};

class LeaseHalved final : public OtherLease {
  using OtherLease::OtherLease;
  [[nodiscard]] Duration kept(Duration asked) const override { return asked / 2; }
};

class LeaseNeverEnds final : public OtherLease {
  using OtherLease::OtherLease;
  [[nodiscard]] Duration kept(Duration) const override { return std::chrono::hours(24); }
};

// Takes the set again if the hold has ended and nobody else has the set yet.
class RenewalRevives final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
      const std::lock_guard lock(mutex_);
      granted_.emplace(grant->stamp, Known{*request.set, *request.owner, grant->stamp});
    }
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      if (!reply->renewals[i] && revive(requests[i], by)) {
        reply->renewals[i] = Renewal{requests[i].lease};
      }
    }
    return reply;
  }
  // Shows a revived hold under its old stamp.
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> all = inner().inspect(query, by);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; all && i < all->holds.size(); ++i) {
      for (const auto& [stamp, known] : granted_) {
        if (known.present == all->holds[i].stamp) all->holds[i].stamp = stamp;
      }
    }
    return all;
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    {
      const std::lock_guard lock(mutex_);
      granted_.erase(hold.stamp);  // otherwise a renewal would revive a released hold
    }
    return inner().release(hold, app, by);
  }

 private:
  struct Known {
    LockSet set;
    Owner owner;
    Stamp present;
  };
  bool revive(const RenewRequest& renewal, TimePoint by) {
    const std::lock_guard lock(mutex_);
    const auto known = granted_.find(renewal.hold.stamp);
    if (known == granted_.end()) return false;
    const std::vector<std::uint32_t> permits(known->second.set.size(), 1);
    AcquireRequest again;
    again.set = &known->second.set;
    again.permits = permits;
    again.config_version = inner().load_config(by).value().version;
    again.token = Token::random();
    again.owner = &known->second.owner;
    again.lease = renewal.lease;
    again.by = by;
    const Result<AcquireOutcome> outcome = inner().try_acquire(again);
    const Grant* grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr;
    if (grant != nullptr) known->second.present = grant->stamp;
    return grant != nullptr;
  }

  std::mutex mutex_;
  std::map<Stamp, Known> granted_;
};

// Writes every renewal, so that the last one decides.
class RenewalShortens final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      if (!reply->renewals[i] || requests[i].permanent) continue;
      reply->renewals[i]->lease = requests[i].lease;
      ends_[requests[i].hold.stamp] = BootClock::now() + requests[i].lease;
    }
    return reply;
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    Result<Inspection> all = inner().inspect(query, by);
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; all && i < all->holds.size(); ++i) {
      const auto end = ends_.find(all->holds[i].stamp);
      if (end != ends_.end()) all->holds[i].remaining = end->second - BootClock::now();
    }
    return all;
  }

 private:
  std::mutex mutex_;
  std::map<Stamp, TimePoint> ends_;
};

// Treats "permanent" as a renewal with the given lease.
class PermanentHasAnEnd final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    std::vector<RenewRequest> others(requests.begin(), requests.end());
    for (RenewRequest& one : others) one.permanent = false;
    return inner().renew(owner, others, by);
  }
};

class SweepDoesNothing final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<std::size_t> sweep(TimePoint) override { return std::size_t{0}; }
};

}  // namespace

std::shared_ptr<Backend> lease_halved(std::shared_ptr<Backend> sound) {
  return std::make_shared<LeaseHalved>(std::move(sound));
}
std::shared_ptr<Backend> lease_never_ends(std::shared_ptr<Backend> sound) {
  return std::make_shared<LeaseNeverEnds>(std::move(sound));
}
std::shared_ptr<Backend> renewal_revives(std::shared_ptr<Backend> sound) {
  return std::make_shared<RenewalRevives>(std::move(sound));
}
std::shared_ptr<Backend> renewal_shortens(std::shared_ptr<Backend> sound) {
  return std::make_shared<RenewalShortens>(std::move(sound));
}
std::shared_ptr<Backend> permanent_has_an_end(std::shared_ptr<Backend> sound) {
  return std::make_shared<PermanentHasAnEnd>(std::move(sound));
}
std::shared_ptr<Backend> sweep_does_nothing(std::shared_ptr<Backend> sound) {
  return std::make_shared<SweepDoesNothing>(std::move(sound));
}

}  // namespace lockset::broken
