// Registers holds again that a store has forgotten.
#pragma once

#include <optional>
#include <span>

#include "lockset/backend.h"

namespace lockset {

// After a renewal that the store may have refused because it forgot the hold
// (RenewReply::may_be_forgotten). Unset: the hold has ended. `config` is the configuration as the
// caller knows it; if the store has another one, that is loaded into it. REQUIRES: by the caller's
// clock, the lease of the hold has not ended.
Result<std::optional<Renewal>> register_again(Backend& backend, const Owner& owner,
                                              const RenewRequest& request, SpaceConfig& config,
                                              TimePoint by);

// The same for each renewal of this reply that may be missing because `store` forgot the hold, by
// the configuration of that store: for a backend over several stores. What could not be found out
// is unanswered afterwards.
void register_forgotten(Backend& store, const Owner& owner, std::span<const RenewRequest> requests,
                        RenewReply& reply, TimePoint by);

}  // namespace lockset
