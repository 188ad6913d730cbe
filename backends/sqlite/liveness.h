// Which processes live: each open store locks a byte of the side file, and the kernel unlocks it
// when the process ends, whatever ends it. So a hold of a dead process can end before its lease.
//
// A hold is never ended too early: a forked child that inherits the lock keeps it; a program that
// the process executes does not inherit it, and can't renew either; locks of the same file reach
// across containers; and what was locked in another file (somebody removed this one) is not known
// here, so that only the lease ends it.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/sqlite/side_file.h"

namespace lockset::sqlite {

// One open store: a byte in one side file.
struct Life {
  std::int64_t file = 0;
  std::int64_t byte = 0;
  bool operator==(const Life&) const = default;
};

// Thread-safe.
class Liveness {
 public:
  // REQUIRES: `file` outlives it.
  explicit Liveness(const SideFile& file);

  // Unset if the file system can't lock: then leases alone end holds.
  [[nodiscard]] const std::optional<Life>& own() const noexcept { return own_; }
  // Certainly over. False if that is not known.
  [[nodiscard]] bool is_over(const Life& life) const noexcept;

 private:
  const SideFile& file_;
  std::optional<Life> own_;
};

}  // namespace lockset::sqlite
