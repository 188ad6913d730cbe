// The tables waiters and waiter_names: who is woken when a name is freed.
//
// A waiter is a row with its names, in the order of coming (id). Freeing a name
// wakes the first in its line, no more. Whoever is woken comes back with another
// attempt: a grant takes the row away and, where the name admits more, wakes the
// next; a busy answer passes the wake-up on (pass_on). So a release wakes a bounded
// number of waiters, and a wake-up is not lost as long as waiters live. Rows expire,
// so that a killed waiter is not for ever the first of its line.
//
// All functions run inside a write transaction, unless they say otherwise. Wake-ups
// are collected in Transaction::wakes, for after the commit.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/sqlite/store.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {

// Outlasts the core's longest poll (5 s and a quarter) by far: a waiter that lives
// refreshes its row in time.
inline constexpr std::int64_t waiter_lifetime_us = 15'000'000;

// The new waiter's id: never used before.
std::int64_t add_waiter(Transaction& transaction, const LockSet& set, const Owner& owner);

struct WaiterState {
  bool woken = false;
  std::int64_t expires_us = 0;
};
// Unset if the row expired and was removed.
std::optional<WaiterState> find_waiter(Transaction& transaction, std::int64_t id);

void refresh_waiter(Transaction& transaction, std::int64_t id);
void clear_woken(Transaction& transaction, std::int64_t id);

// Takes the waiter out of all its lines: its items, none if it is in none.
std::vector<LockRequest> remove_waiter(Transaction& transaction, std::int64_t id);

// Wakes the first waiter for `name` behind the waiter `after` (0: of all), of one
// mode if one is given. Passes over those who were woken 100 ms ago and did not
// come: they are stopped or dead.
void wake_next(Transaction& transaction, std::string_view name, std::int64_t after = 0,
               std::optional<Mode> mode = {});

// wake_next for each of the names.
void wake_for(Transaction& transaction, std::span<const LockRequest> freed);

void wake_all(Transaction& transaction);

// The number removed. Removes a bounded number.
int remove_expired_waiters(Transaction& transaction);

// Live waiters that match, in the order of coming. Reading is enough.
std::vector<WaiterInfo> list_waiters(Transaction& transaction, const InspectQuery& query);

}  // namespace lockset::sqlite
