// Who holds what, and who waits for what. Semantics 17.
//
// Thread-safety: plain values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "lockset/export.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

// The owner of a hold. Semantics 12.
struct Owner {
  std::string app;  // application id: may release and renew the hold
  // One running manager of that application, with its version; unique: "3f09...-0.1.0".
  std::string instance;
  std::int64_t epoch = 0;  // 0 unless the instance was opened with reclaim
  std::string label;       // for people: user@host:pid and the command

  bool operator==(const Owner&) const = default;
};

struct HoldInfo {
  Stamp stamp;
  std::vector<LockRequest> items;  // sorted by name
  Owner owner;
  // By the store's wall clock; for people, never for decisions.
  std::chrono::system_clock::time_point since;
  // Until the lease ends, by the store's clock; unset if it never ends.
  std::optional<Duration> remaining;
};

struct WaiterInfo {
  std::vector<LockRequest> items;  // sorted by name
  Owner owner;
  std::chrono::system_clock::time_point since;
};

struct Inspection {
  std::vector<HoldInfo> holds;      // by ascending stamp
  std::vector<WaiterInfo> waiters;  // longest wait first; empty where the backend keeps no queue
  // The store lost its state, or may have: it grants nothing for this long, until all earlier
  // leases have ended. Meanwhile, living holders register their holds again.
  std::optional<Duration> quarantine = {};
  // Which server answered, for people, where the address does not say: "127.0.0.1:6379, main by the
  // sentinels ...". Else empty.
  std::string server = {};
};

// Which holds and waiters to show: those with at least one name that matches.
// Each is shown with its whole set.
struct InspectQuery {
  enum class Match : std::uint8_t { all, name, prefix };
  Match match = Match::all;
  std::string text;

  [[nodiscard]] bool matches(const std::vector<LockRequest>& items) const;
};

}  // namespace LOCKSET_EXPORT
