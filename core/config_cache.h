// The client's copy of the space's configuration. Semantics 6 and 7.
#pragma once

#include <memory>
#include <mutex>

#include "lockset/space_config.h"

namespace lockset {

// Readers get a whole, immutable copy. The mutex guards the exchange of one
// pointer, so nobody waits for a store under it. Thread-safe.
class ConfigCache {
 public:
  [[nodiscard]] std::shared_ptr<const SpaceConfig> get() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }

  // Takes `config` over if it is of another version than the present one. Not only
  // if it is newer: a restored store may have gone back, and its word is what
  // counts. True if the version changed.
  bool replace(SpaceConfig config) {
    auto next = std::make_shared<const SpaceConfig>(std::move(config));
    const std::lock_guard lock(mutex_);
    const bool other = next->version != config_->version;
    config_ = std::move(next);
    return other;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const SpaceConfig> config_ = std::make_shared<const SpaceConfig>();
};

}  // namespace lockset
