// The tables holds and hold_names. All functions run inside a write transaction, unless they say
// that a read transaction is enough.
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
#include "lockset/stamp.h"

namespace lockset::sqlite {

// The number of a mode in the tables.
inline std::int64_t number(Mode mode) { return mode == Mode::write ? 1 : 0; }

using Items = std::vector<LockRequest>;

std::string_view bytes_of(const Token& token);

// A set as one value: for each item a byte for the mode, a byte for the length, and the name.
std::string packed(std::span<const LockRequest> items);
// The inverse of packed(); any other text ends at the first invalid item.
Items unpacked(std::string_view bytes);

// The live holds of one mode on one name.
struct Group {
  std::uint32_t count = 0;
  Stamp lowest;
  std::optional<std::int64_t> first_end_us;  // over those that end

  void add(Stamp stamp, std::optional<std::int64_t> ends_us);
};

struct NameState {
  Group reads;
  Group writes;

  [[nodiscard]] Stamp floor() const;
};

// The live holds on `name`, except the one with the stamp `except`. Appends the stamps of those
// that have expired or whose process has ended to `expired`, if it is given. A read transaction is
// enough.
NameState look_at_name(Transaction& transaction, std::string_view name, std::vector<Stamp>* expired,
                       Stamp except = {});

struct NewHold {
  Stamp stamp;
  Token token;
  const Owner& owner;
  const LockSet& set;
  std::int64_t lease_us = 0;
  std::optional<Life> life = {};  // unset: only its lease ends it
};
// One that outlives its process must survive.
void add_hold(Transaction& transaction, const NewHold& hold);

// Gives the hold `to` what `from` has besides its set: its lease, if that ends later, and whether
// it ends with its process. Then removes `from`. Returns when the lease of `to` ends; unset: never.
std::optional<std::int64_t> take_place(Transaction& transaction, Stamp from, Stamp to);

// Removes the hold with all its names, live or not. Returns its items; none if there is no such
// hold. The end of a live one that outlives its process must survive: it must not come back.
Items remove_hold(Transaction& transaction, Stamp stamp);

// Removes the holds that ended with their processes, whatever their leases say.
void remove_holds_of_the_dead(Transaction& transaction);

struct StoredHold {
  std::string app;
  bool live = false;
};
std::optional<StoredHold> find_hold(Transaction& transaction, Stamp stamp);

// The live hold on `name` that was granted to the attempt with this token, if any. A read
// transaction is enough.
struct TokenHold {
  Stamp stamp;
  std::optional<std::int64_t> ends_us;
};
std::optional<TokenHold> find_token(Transaction& transaction, std::string_view name,
                                    const Token& token);

// The stores with which holds on `name` end, at most a few of them. A read transaction is enough.
std::vector<Life> lives_of(Transaction& transaction, std::string_view name);

// Stamps of expired holds, and of those whose process has ended, with `from` < stamp, among at most
// `looks` rows. Sets `from` to the last stamp looked at, or 0 at the end. A read transaction is
// enough.
std::vector<Stamp> find_expired(Transaction& transaction, std::int64_t& from, std::int64_t looks);

// The live holds that match. A read transaction is enough.
std::vector<HoldInfo> list_holds(Transaction& transaction, const InspectQuery& query);

}  // namespace lockset::sqlite
