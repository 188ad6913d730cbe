#include "tests/simulation/flaws.h"

#include <array>
#include <utility>

#include "history/check.h"
#include "lockset/clock.h"
#include "lockset/forwarding_backend.h"

namespace lockset::simulation {
namespace {

constexpr std::array<std::pair<std::string_view, Flaw>, 25> flaws{{
    {"counted-versions", Flaw::counted_versions},
    {"counted-stamps", Flaw::counted_stamps},
    {"demoted-grants", Flaw::demoted_grants},
    {"forgotten-waiters", Flaw::forgotten_waiters},
    {"unbounded-overtaking", Flaw::unbounded_overtaking},
    {"one-overtake-more", Flaw::one_overtake_more},
    {"unmarked-writes", Flaw::unmarked_writes},
    {"late-traces", Flaw::late_traces},
    {"unordered-traces", Flaw::unordered_traces},
    {"unsaid-writers", Flaw::unsaid_writers},
    {"early-sweep", Flaw::early_sweep},
    {"demoted-observes", Flaw::demoted_observes},
    {"kept-replaced", Flaw::kept_replaced},
    {"ended-though-refused", Flaw::ended_though_refused},
    {"kept-stamps", Flaw::kept_stamps},
    {"gone-is-granted", Flaw::gone_is_granted},
    {"overlooked-renewals", Flaw::overlooked_renewals},
    {"unfair-upgrades", Flaw::unfair_upgrades},
    {"unmarked-upgrades", Flaw::unmarked_upgrades},
    {"newer-config-only", Flaw::newer_config_only},
    {"own-renewals", Flaw::own_renewals},
    {"from-the-answer", Flaw::from_the_answer},
    {"unguarded-fork", Flaw::unguarded_fork},
    {"two-steps", Flaw::two_steps},
    {"first-condition", Flaw::first_condition},
}};

class NewerConfigOnly final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<SpaceConfig> load_config(TimePoint by) override { return newest(inner().load_config(by)); }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    return newest(inner().change_config(change, by));
  }

 private:
  SpaceConfig newest(const SpaceConfig& config) {
    if (config.version > newest_.version) newest_ = config;
    return newest_;
  }
  Result<SpaceConfig> newest(Result<SpaceConfig> config) {
    if (config) *config = newest(*config);
    return config;
  }
  SpaceConfig newest_;
};

// Acts as a client whose connection stands for its holds, and that never learns that they are gone.
class OwnRenewals final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    for (std::size_t i = 0; reply && i < requests.size(); ++i) {
      if (!reply->renewals[i]) reply->renewals[i] = Renewal{requests[i].lease};
    }
    return reply;
  }
};

class FirstCondition final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest changed = request;
    if (request.ticket) changed.unchanged_since = {};
    return inner().try_acquire(changed);
  }
};

// Others may get in between.
class TwoSteps final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& asked) override {
    if (asked.replaces == nullptr) return inner().try_acquire(asked);
    const Result<bool> released = inner().release(*asked.replaces, asked.owner->app, asked.by);
    if (!released) return released.error();
    if (!*released) return AcquireOutcome(Gone{});
    AcquireRequest request = asked;
    request.replaces = nullptr;
    return inner().try_acquire(request);
  }
};

// Adds the time that the answer took to the lease.
class FromTheAnswer final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    const TimePoint sent = BootClock::now();
    Result<AcquireOutcome> outcome = inner().try_acquire(request);
    if (!outcome) return outcome;
    if (Grant* grant = std::get_if<Grant>(&*outcome)) put_off(grant->lease, sent);
    return outcome;
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    const TimePoint sent = BootClock::now();
    Result<RenewReply> reply = inner().renew(owner, requests, by);
    if (!reply) return reply;
    for (auto& renewal : reply->renewals) {
      if (renewal) put_off(renewal->lease, sent);
    }
    return reply;
  }

 private:
  static void put_off(Duration& lease, TimePoint sent) {
    if (lease != Duration::max()) lease += BootClock::now() - sent;
  }
};

}  // namespace

Flaw flaw_of(std::string_view name) {
  for (const auto& [each, flaw] : flaws) {
    if (each == name) return flaw;
  }
  return Flaw::none;
}

std::set<std::string> broken_by(Flaw flaw) {
  const std::string exclusion(to_string(history::Invariant::exclusion));
  const std::string fencing(to_string(history::Invariant::fencing));
  const std::string liveness(to_string(history::Invariant::liveness));
  const std::string atomic_sets(to_string(history::Invariant::atomic_sets));
  const std::string valid = "what is valid is held";
  switch (flaw) {
    case Flaw::none:
      return {};
    case Flaw::counted_versions:
      return {exclusion, fencing};
    case Flaw::counted_stamps:
      return {fencing};
    case Flaw::own_renewals:
      return {exclusion, valid};
    case Flaw::demoted_grants:
    case Flaw::from_the_answer:
      return {exclusion};
    case Flaw::forgotten_waiters:
    case Flaw::unbounded_overtaking:
    case Flaw::one_overtake_more:
    case Flaw::unfair_upgrades:
      return {liveness};
    case Flaw::newer_config_only:
      return {"trouble from nowhere", liveness};
    case Flaw::kept_replaced:
      return {atomic_sets};
    case Flaw::ended_though_refused:
    case Flaw::overlooked_renewals:
      return {valid};
    case Flaw::two_steps:
      return {exclusion, fencing, atomic_sets};
    case Flaw::kept_stamps:
      return {"trouble from nowhere"};
    case Flaw::gone_is_granted:
      return {std::string(to_string(history::Invariant::lease))};
    case Flaw::unmarked_writes:
    case Flaw::late_traces:
    case Flaw::unordered_traces:
    case Flaw::unsaid_writers:
    case Flaw::early_sweep:
    case Flaw::unmarked_upgrades:
    case Flaw::demoted_observes:
    case Flaw::first_condition:
      return {std::string(to_string(history::Invariant::observing))};
    case Flaw::unguarded_fork:
      return {"a child is not its parent"};
  }
  return {};
}

std::unique_ptr<Backend> with_flaw(Flaw flaw, std::unique_ptr<Backend> store) {
  if (flaw == Flaw::newer_config_only) return std::make_unique<NewerConfigOnly>(std::move(store));
  if (flaw == Flaw::own_renewals) return std::make_unique<OwnRenewals>(std::move(store));
  if (flaw == Flaw::two_steps) return std::make_unique<TwoSteps>(std::move(store));
  if (flaw == Flaw::first_condition) return std::make_unique<FirstCondition>(std::move(store));
  if (flaw == Flaw::from_the_answer) return std::make_unique<FromTheAnswer>(std::move(store));
  return store;
}

}  // namespace lockset::simulation
