#include "core/register_again.h"

#include <utility>
#include <vector>

namespace lockset {
namespace {

// The configuration may change between the look at it and the call, but not for ever.
constexpr int most_tries = 10;

// SEM 12: a newer instance of its application has ended it. (The hold on the application's id was
// granted before the epoch that is its stamp began.)
bool superseded(const HoldRef& hold, const SpaceConfig& config) {
  const auto epoch = config.epochs.find(hold.owner->app);
  return epoch != config.epochs.end() && hold.owner->epoch < epoch->second &&
         hold.stamp.value != epoch->second;
}

}  // namespace

Result<std::optional<Renewal>> register_again(Backend& backend, const Owner& owner,
                                              const RenewRequest& request, SpaceConfig& config,
                                              TimePoint by) {
  const HoldRef& hold = request.hold;
  // Only who was granted a hold knows that it was.
  if (!hold.known() || hold.owner->app != owner.app) return std::optional<Renewal>();
  for (int i = 0; i < most_tries; ++i) {
    if (superseded(hold, config)) return std::optional<Renewal>();
    std::vector<std::uint32_t> permits;
    for (const LockRequest& item : hold.set->items()) {
      permits.push_back(config.permits_of(item.name).of(item.mode));
    }
    Result<ReregisterOutcome> outcome =
        backend.reregister(owner, {request, permits, config.version}, by);
    if (!outcome) return std::move(outcome).error();
    if (const auto* renewal = std::get_if<Renewal>(&*outcome)) return std::optional(*renewal);
    if (std::holds_alternative<Gone>(*outcome)) return std::optional<Renewal>();
    Result<SpaceConfig> present = backend.load_config(by);
    if (!present) return std::move(present).error();
    config = *std::move(present);
  }
  return Error{Errc::unavailable,
               "a forgotten hold could not be registered again: the configuration of the space "
               "changes all the time"};
}

void register_forgotten(Backend& store, const Owner& owner, std::span<const RenewRequest> requests,
                        RenewReply& reply, TimePoint by) {
  std::optional<SpaceConfig> config;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!reply.may_be_forgotten(i)) continue;
    if (!config) {
      Result<SpaceConfig> present = store.load_config(by);
      if (present) config = *std::move(present);
    }
    Result<std::optional<Renewal>> outcome = std::optional<Renewal>();
    if (config) outcome = register_again(store, owner, requests[i], *config, by);
    if (config && outcome) {
      reply.renewals[i] = *outcome;
    } else {
      reply.unanswered.resize(requests.size(), false);
      reply.unanswered[i] = true;
    }
  }
  reply.forgotten.clear();
}

}  // namespace lockset
