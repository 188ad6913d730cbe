// All of a space, as it stands in its item.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/clock.h"
#include "lockset/inspection.h"
#include "lockset/lock_set.h"
#include "lockset/space_config.h"
#include "lockset/stamp.h"

namespace lockset::memcached {

inline constexpr std::string_view schema_version = "1";

// Times are microseconds since 1970 by the server's clock.
struct HoldRecord {
  Stamp stamp;
  Token token;
  Owner owner;
  std::vector<LockRequest> items;
  std::int64_t since_us = 0;
  std::int64_t end_us = 0;
  std::int64_t lease_us = 0;
};

struct State {
  SpaceConfig config;
  Stamp last_stamp;
  // The server process that has had the state all the time, and when this life of the space began.
  std::string process;
  std::int64_t born_us = 0;
  // Nothing is granted before that.
  std::int64_t quarantine_us = 0;
  // The end of leases that are longer than the configuration allows.
  std::int64_t longest_us = 0;
  // The longest lease was raised. Until then no lease is longer than it was before: see `knows`.
  std::int64_t raised_until_us = 0;
  std::int64_t lease_before_us = 0;
  std::vector<HoldRecord> holds;  // by ascending stamp
  // What was ended during the quarantine: a late renewal must not register it again.
  std::vector<Stamp> ended;
};

inline std::int64_t micros(Duration duration) {
  return std::chrono::ceil<std::chrono::microseconds>(duration).count();
}

std::string encode(const State& state);
// Unset if it is no such text. `schema`: the version that it names, "" if it names none.
std::optional<State> decode(std::string_view text, std::string& schema);

}  // namespace lockset::memcached
