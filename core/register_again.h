// Registers holds again that a store has forgotten.
#pragma once

#include <optional>

#include "lockset/backend.h"

namespace lockset {

// After a renewal that the store may have refused because it forgot the hold
// (RenewReply::may_be_forgotten). Unset: the hold has ended. `config` is the configuration as the
// caller knows it; if the store has another one, that is loaded into it. REQUIRES: by the caller's
// clock, the lease of the hold has not ended.
Result<std::optional<Renewal>> register_again(Backend& backend, const Owner& owner,
                                              const RenewRequest& request, SpaceConfig& config,
                                              TimePoint by);

}  // namespace lockset
