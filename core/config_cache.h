// The client's copy of the space's configuration. Semantics 6 and 7.
#pragma once

#include <memory>
#include <mutex>

#include "lockset/space_config.h"

namespace lockset {

// Readers get a whole, immutable copy. The mutex guards the exchange of one pointer, so no reader
// ever waits for a store. Thread-safe.
class ConfigCache {
 public:
  [[nodiscard]] std::shared_ptr<const SpaceConfig> get() const {
    const std::lock_guard lock(mutex_);
    return config_;
  }

  // Takes `config` over if its version differs from the present one. Not only if it is newer: a
  // restored store may have gone back, and the store decides. True if the version changed.
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
