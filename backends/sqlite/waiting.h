// The tables waiters and waiter_names: which waiter is woken when a name becomes free.
//
// A waiter is a row with its names, in the order of arrival (id). Freeing a name wakes only the
// first in its line. A woken waiter comes back with another attempt: a grant removes its row and,
// if the name admits more, wakes the next; a busy answer passes the wake-up on (pass_on). So a
// release wakes a bounded number of waiters, and no wake-up is lost as long as waiters live. Rows
// expire, so that a killed waiter does not stay the first of its line for ever.
//
// All functions run inside a write transaction, unless they say otherwise. Transaction::wakes
// collects wake-ups for after the commit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/sqlite/store.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {

// Returns the new waiter's id, which was never used before.
std::int64_t add_waiter(Transaction& transaction, const LockSet& set, const Owner& owner);

struct WaiterState {
  bool woken = false;
  std::int64_t expires_us = 0;
  std::uint32_t overtaken = 0;
};
// Unset if the row expired and was removed.
std::optional<WaiterState> find_waiter(Transaction& transaction, std::int64_t id);

// The waiters for whom a name is kept, because they were overtaken often enough (semantics 13).
struct Kept {
  std::uint32_t reads = 0;
  std::uint32_t writes = 0;
  // The first of them.
  std::int64_t waiter = 0;
  std::string label;
  std::int64_t counts_until_us = 0;  // unless it comes
  bool to_prod = false;              // it was not heard of lately
};
// Looks only at the waiters before `before` (0: at all).
Kept look_who_is_kept(Transaction& transaction, std::string_view name, std::int64_t before,
                      std::uint32_t max_overtakes);
// Nobody waits for anything.
bool nobody_waits(Transaction& transaction);
// The waiter `waiter` (0: a newcomer) is granted `items`: counts that for each before it who waits
// for a part of them.
void count_overtaking(Transaction& transaction, std::span<const LockRequest> items,
                      std::int64_t waiter);
bool is_first_in_line(Transaction& transaction, std::string_view name, std::int64_t waiter);
void wake_waiter(Transaction& transaction, std::int64_t id);

// True if the row is so old that the waiter should refresh it.
bool needs_refresh(const Transaction& transaction, const WaiterState& state);
void refresh_waiter(Transaction& transaction, std::int64_t id);
void clear_woken(Transaction& transaction, std::int64_t id);

// Removes the waiter from all its lines. Returns its items; none if it is in no line.
std::vector<LockRequest> remove_waiter(Transaction& transaction, std::int64_t id);

// The same for a waiter that gives up: passes on a wake-up that it was given.
void leave_line(Transaction& transaction, std::int64_t id);

// Wakes the first waiter for `name` behind the waiter `after` (0: of all), of one mode if `mode` is
// given. Skips waiters that were woken 100 ms ago and did not come: they are stopped or dead.
void wake_next(Transaction& transaction, std::string_view name, std::int64_t after = 0,
               std::optional<Mode> mode = {});

// wake_next for each of the names.
void wake_for(Transaction& transaction, std::span<const LockRequest> freed);

void wake_all(Transaction& transaction);

// Removes a bounded number; returns the number removed.
int remove_expired_waiters(Transaction& transaction);

// Live waiters that match, in the order of arrival. A read transaction is enough.
std::vector<WaiterInfo> list_waiters(Transaction& transaction, const InspectQuery& query);

}  // namespace lockset::sqlite
