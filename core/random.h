// Randomness for jitter; nothing secret. Injected, so that tests can repeat a run from its seed.
#pragma once

#include <cstdint>

#include "lockset/clock.h"

namespace lockset {

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// OOPSLA 2014). Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // 0 <= result < bound. REQUIRES: bound > 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  // Between `least` and `most`, both included.
  Duration between(Duration least, Duration most) noexcept {
    return least + Duration(static_cast<Duration::rep>(
                       below(static_cast<std::uint64_t>((most - least).count()) + 1)));
  }

 private:
  std::uint64_t state_;
};

}  // namespace lockset
