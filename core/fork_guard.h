// Detects that this process is a fork of the one that made the guard. Semantics 18.
#pragma once

#include <cstdint>

namespace lockset {

// A number that no ancestor of this process has. Also holds in a child made by _Fork or clone,
// unless it shares its parent's memory. One load.
std::uint64_t fork_generation() noexcept;

class ForkGuard {
 public:
  [[nodiscard]] bool in_child() const noexcept { return made_in_ != fork_generation(); }

 private:
  std::uint64_t made_in_ = fork_generation();
};

}  // namespace lockset
