#include "tests/simulation/migration/mutants.h"

#include <utility>
#include <vector>

#include "backends/migrate/hold_tag.h"
#include "lockset/forwarding_backend.h"

namespace lockset::simulation {
namespace {

// Ignores marks.
class Legacy final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<SpaceConfig> load_config(TimePoint by) override {
    Result<SpaceConfig> config = inner().load_config(by);
    if (config) config->migration_phase = 0;
    return config;
  }
};

class NoMinStamp final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest other = request;
    other.min_stamp = {};
    return inner().try_acquire(other);
  }
};

class LostIgnored final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    if (!reply) reply = RenewReply{};
    reply->renewals.resize(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (!reply->renewals[i]) reply->renewals[i] = Renewal{requests[i].lease};
    }
    return reply;
  }
};

// Claims, without asking, that the old part of a hold in both stores exists.
class LeftOut final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    const auto tag = migrate::tag_of(request.owner->instance);
    const bool of_both =
        tag && (tag->phase == MigrationPhase::dual_old || tag->phase == MigrationPhase::dual_new);
    if (!of_both) return inner().try_acquire(request);
    Grant grant;
    grant.stamp = Stamp{1};
    grant.lease = request.lease;
    grant.floors.assign(request.set->size(), grant.stamp);
    return AcquireOutcome(std::move(grant));
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      if (requests[i].hold.stamp == Stamp{1}) reply->renewals[i] = Renewal{requests[i].lease};
    }
    return reply;
  }
};

// As if it were enough to observe in the store that gives the stamps.
class WritersUnsaid final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    if (auto* traces = outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr) {
      for (Trace& trace : *traces) trace.being_written = false;
    }
    return outcome;
  }
};

class OnlyWhile final : public ForwardingBackend {
 public:
  OnlyWhile(std::function<bool()> there, std::unique_ptr<Backend> store)
      : ForwardingBackend(std::move(store)), there_(std::move(there)) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    if (!there_()) return Error{Errc::unavailable, "there is no such lock space yet"};
    return inner().try_acquire(request);
  }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    if (!there_()) return Error{Errc::unavailable, "there is no such lock space yet"};
    return inner().observe(request);
  }

 private:
  const std::function<bool()> there_;
};

}  // namespace

std::unique_ptr<Backend> old_store_of(Mutant mutant, std::unique_ptr<Backend> store) {
  if (mutant == Mutant::lost_old_ignored) return std::make_unique<LostIgnored>(std::move(store));
  if (mutant == Mutant::old_part_left_out) return std::make_unique<LeftOut>(std::move(store));
  if (mutant == Mutant::unsaid_in_old) return std::make_unique<WritersUnsaid>(std::move(store));
  return store;
}

std::unique_ptr<Backend> new_store_of(Mutant mutant, std::unique_ptr<Backend> store) {
  if (mutant == Mutant::no_min_stamp) return std::make_unique<NoMinStamp>(std::move(store));
  return store;
}

std::unique_ptr<Backend> lone_store_of(Mutant mutant, std::unique_ptr<Backend> store) {
  if (mutant == Mutant::legacy) return std::make_unique<Legacy>(std::move(store));
  return store;
}

std::unique_ptr<Backend> only_while(std::function<bool()> there, std::unique_ptr<Backend> store) {
  return std::make_unique<OnlyWhile>(std::move(there), std::move(store));
}

}  // namespace lockset::simulation
