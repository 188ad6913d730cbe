// Random choices of a run, with a simpler interface than the standard library's.
#pragma once

#include <cstddef>
#include <random>

#include "lockset/clock.h"
#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// All bounds are included.
inline std::size_t between(Dice& dice, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(dice);
}
inline double real(Dice& dice, double least, double most) {
  return std::uniform_real_distribution<double>(least, most)(dice);
}
inline bool chance(Dice& dice, double share) { return real(dice, 0, 1) < share; }
inline Duration time_between(Dice& dice, Duration least, Duration most) {
  return Duration(std::uniform_int_distribution<Duration::rep>(least.count(), most.count())(dice));
}

}  // namespace lockset::chaos
