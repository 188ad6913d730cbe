// The scripts that do each step of the store in one round trip. All of them are atomic, for
// Redis runs one at a time. Their Lua is in statements/, put together by scripts.cpp; each file
// says what its script takes and answers.
//
// Every script begins alike (opening.lua, beginning.lua): it reads the server's time, sees that the
// state is the one that this client knows, and answers {'L'} if it is not, {'V', schema} if another
// version of Lockset made it. Otherwise it answers what stands with it.
//
// KEYS 1 to 3: Keys::main, leases, waiters; the last of KEYS: Keys::here. ARGV 1 to 3: the server
// process, the birth of the space and the version of the configuration that the client has seen,
// with blanks between; that version; the greatest stamp that it has seen.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "backends/redis/errors.h"

namespace lockset::redis {

inline constexpr std::string_view schema_version = "3";

// Begins behind the common keys and arguments.
inline constexpr std::size_t common_keys = 3;  // and one more at the end
inline constexpr std::size_t common_arguments = 3;

struct Script {
  std::size_t number;          // in all_scripts
  std::string_view name;       // for messages
  std::string_view more = {};  // fields that it reads together with the common ones, as Lua
  std::string_view body;
  bool ends = false;   // has the function bury
  bool wakes = false;  // has the function wake
  Sent sent = Sent::change;
  // What comes before all of that, for the usual case, which pays for each command: it answers
  // where `calm` and the last stamp say that the rest would find nothing, and else changes
  // nothing.
  std::string_view early = {};

  [[nodiscard]] std::string text() const;
};

namespace scripts {
extern const Script acquire, find, release, renew, reregister, resolve, inspect, inspect_name,
    end_wait, expired, remove, load, change, reclaim, restore, init;
}  // namespace scripts

inline constexpr std::size_t script_count = 16;

}  // namespace lockset::redis
