// The newest state of the space that this client has seen. A store that shows an older one has lost
// something; then this state is restored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>

#include "lockset/space_config.h"
#include "lockset/stamp.h"

namespace lockset::redis {

struct Seen {
  std::optional<SpaceConfig> config;
  // The end, by the server's time in microseconds, of leases that are longer than the configuration
  // now allows.
  std::int64_t longest_us = 0;
  std::int64_t stamp = 0;
  // When the space was made, by the server's time: there may be another one in its place. 0: not
  // known.
  std::int64_t born = 0;

  [[nodiscard]] std::int64_t version() const { return config ? config->version : 0; }
};

// What every script gets from it.
struct Marks {
  std::int64_t version = 0;
  std::int64_t stamp = 0;
  std::int64_t born = 0;
};

// Thread-safe.
class Memory {
 public:
  [[nodiscard]] Seen get() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  [[nodiscard]] Marks marks() const {
    const std::lock_guard lock(mutex_);
    return {seen_.version(), seen_.stamp, seen_.born};
  }
  void saw(const SpaceConfig& config, std::int64_t longest_us, Stamp stamp, std::int64_t born) {
    const std::lock_guard lock(mutex_);
    if (seen_.born == 0) seen_.born = born;
    if (config.version >= seen_.version()) seen_.config = config;
    seen_.longest_us = std::max(seen_.longest_us, longest_us);
    seen_.stamp = std::max(seen_.stamp, stamp.value);
  }
  // Another space has replaced the known one, or it is the same again.
  void lives_in(std::int64_t born) {
    const std::lock_guard lock(mutex_);
    seen_.born = born;
  }
  void saw(Stamp stamp) {
    const std::lock_guard lock(mutex_);
    seen_.stamp = std::max(seen_.stamp, stamp.value);
  }

 private:
  mutable std::mutex mutex_;
  Seen seen_;
};

}  // namespace lockset::redis
