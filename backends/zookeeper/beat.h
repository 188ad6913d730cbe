// What a session writes to renew its holds: a separate ephemeral node, whose version counts the
// renewals. Unlike a read, a write needs the majority of the servers. A version below an earlier
// answer shows that the store was restored from a backup.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "lockset/stamp.h"

namespace lockset::zookeeper {

// Thread-safe.
class Beat {
 public:
  // The last part of the node's path.
  [[nodiscard]] const std::string& part() const noexcept { return part_; }
  // The node exists, as far as is known.
  [[nodiscard]] bool made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  void was_made() {
    const std::lock_guard lock(mutex_);
    made_ = true;
  }
  // The version in the last answer.
  [[nodiscard]] std::int32_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }
  // Takes the answer to a write that was sent when version() was `before`. False: the store has
  // gone back since.
  bool answered(std::int32_t before, std::int32_t version) {
    const std::lock_guard lock(mutex_);
    if (!is_later(version, before)) return false;
    if (is_later(version, version_)) version_ = version;
    return true;
  }

 private:
  // Versions wrap around at 2^32.
  static bool is_later(std::int32_t one, std::int32_t other) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(one) -
                                     static_cast<std::uint32_t>(other)) > 0;
  }

  const std::string part_ = Token::random().hex();
  mutable std::mutex mutex_;
  bool made_ = false;
  std::int32_t version_ = 0;
};

}  // namespace lockset::zookeeper
