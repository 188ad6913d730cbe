// The scripts that do each step of the store in one round trip. All of them are atomic, because
// Redis runs one at a time. Their Lua is in statements/, put together by scripts.cpp; each file
// describes the input and the answer of its script.
//
// Every script has the same beginning (opening.lua, beginning.lua): it reads the server's time, and
// checks that the state is the one that this client knows. It answers {'L'} if it is not, and
// {'V', schema} if another version of Lockset made it. Otherwise it gives its own answer.
//
// KEYS 1 to 3: Keys::main, leases, waiters; the last of KEYS: Keys::here. ARGV 1 to 3: what the
// client has seen: the server process, the birth of the space and the version of the configuration,
// separated by blanks; that version; the greatest stamp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "backends/redis/errors.h"
#include "lockset/clock.h"

namespace lockset::redis {

inline constexpr std::string_view schema_version = "3";

// The first index after the common keys and arguments.
inline constexpr std::size_t common_keys = 3;  // and one more at the end
inline constexpr std::size_t common_arguments = 3;

struct Script {
  std::size_t number;          // index in all_scripts
  std::string_view name;       // for messages
  std::string_view more = {};  // fields that it reads together with the common ones, as Lua
  std::string_view body;
  bool ends = false;   // uses the function bury
  bool wakes = false;  // uses the function wake
  Sent sent = Sent::change;
  // Runs before all of that, for the usual case, in which every command costs time: it answers if
  // `calm` and the last stamp show that the rest would find nothing, and otherwise changes nothing.
  std::string_view early = {};

  // `grace`: how much longer than the longest lease a quarantine lasts.
  [[nodiscard]] std::string text(Duration grace = Duration::zero()) const;
};

namespace scripts {
extern const Script acquire, find, release, renew, reregister, resolve, inspect, inspect_name,
    end_wait, expired, remove, load, change, reclaim, restore, init, observe, unobserved, forget;
}  // namespace scripts

inline constexpr std::size_t script_count = 19;

}  // namespace lockset::redis
