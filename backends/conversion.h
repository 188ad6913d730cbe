// What all stores share about requests that take the place of a hold (AcquireRequest::replaces).
#pragma once

#include "lockset/backend.h"

namespace lockset {

// It only gives up: it passes those who wait, and overtakes nobody. (All of its items are reads.)
inline bool is_downgrade(const AcquireRequest& request) {
  return request.replaces != nullptr && request.set->items().front().mode == Mode::read;
}

}  // namespace lockset
