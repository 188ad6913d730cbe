// What a session writes to renew its holds: an ephemeral node of its own, whose version counts the
// renewals. A write needs the majority of the servers, as a read does not; and a version that is
// less than one which was answered before says that the store was put back from a backup.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "lockset/stamp.h"

namespace lockset::zookeeper {

// Thread-safe.
class Beat {
 public:
  // The node's own name.
  [[nodiscard]] const std::string& part() const noexcept { return part_; }
  // The node is there, as far as is known.
  [[nodiscard]] bool made() const {
    const std::lock_guard lock(mutex_);
    return made_;
  }
  void was_made() {
    const std::lock_guard lock(mutex_);
    made_ = true;
  }
  // The last that was answered.
  [[nodiscard]] std::int32_t version() const {
    const std::lock_guard lock(mutex_);
    return version_;
  }
  // The answer to a write that was sent when version() was `before`. False: the store has gone
  // back since.
  bool answered(std::int32_t before, std::int32_t version) {
    const std::lock_guard lock(mutex_);
    if (!is_later(version, before)) return false;
    if (is_later(version, version_)) version_ = version;
    return true;
  }

 private:
  // Versions go round at 2^32.
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
