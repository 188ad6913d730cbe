// One attempt to acquire, as one transaction's steps.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sqlite/store.h"
#include "lockset/backend.h"

namespace lockset::sqlite {

// The place of one waiting acquire. Used by one thread at a time.
class Ticket : public WaitTicket {
 public:
  std::int64_t waiter = 0;       // its row, unless it has expired
  std::uint32_t slot_value = 0;  // the value of its wake slot before the busy answer was final
  // Nobody announces that these end: holders in the way, if this waiter is the first behind them.
  std::vector<Life> watched;
  TimePoint watched_at{};  // when has_changed looked at them last
};

struct Attempt {
  const AcquireRequest& request;
  Ticket* ticket = nullptr;  // null at the first attempt, and if the caller won't wait
  // A woken waiter that finds a new holder keeps its place for one more look (see
  // SqliteBackend::try_acquire).
  bool may_linger = false;
};

struct AttemptResult {
  AcquireOutcome outcome;
  bool lingers = false;            // busy, woken, and nothing passed on yet
  std::int64_t waiter = 0;         // busy and waiting: the row
  std::uint32_t slot_value = 0;    // the value of its slot
  std::vector<Life> watched = {};  // as in Ticket
};

// REQUIRES: in a write transaction.
AttemptResult attempt(Transaction& transaction, const Attempt& attempt, const WakeSlots& slots);

}  // namespace lockset::sqlite
