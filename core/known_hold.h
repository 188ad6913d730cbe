// What a client knows about a hold that it took, or of an attempt that may still become one.
#pragma once

#include <cstdint>

#include "lockset/backend.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset {

// A HoldRef that owns what it refers to.
struct KnownHold {
  LockSet set;
  Owner owner;
  Token token;
  Stamp stamp{};  // 0: an attempt whose outcome is not known
  std::int64_t store_time_us = 0;

  // Points into this object.
  [[nodiscard]] HoldRef ref() const {
    HoldRef ref(stamp);
    ref.token = token;
    ref.set = &set;
    ref.owner = &owner;
    ref.store_time_us = store_time_us;
    return ref;
  }
};

}  // namespace lockset
