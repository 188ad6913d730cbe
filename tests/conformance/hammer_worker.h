// One process of the hammer: takes random sets for a while, and writes down when it certainly held
// what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lockset::conformance {

// Lines of the log, times in nanoseconds of BootClock:
//   G STAMP TIME r:n1,w:n2 WAITED   the acquire had returned by TIME, after WAITED, and
//                                   the hold was valid then
//   V STAMP TIME                    valid() was asked at TIME or later, and answered true
//   R STAMP TIME                    about to release
//   T TIME                          an acquire timed out
//   U TIME TEXT                     with `losses`: the store did not answer, or grants nothing
//   E TEXT                          an error that is not allowed
// From G to the last V or R the hold was held and valid. The process ends when there is a file
// named stop_file next to the log, or after `seconds`. Returns 0 if all went well.
inline constexpr const char* stop_file = "stop";

struct HammerJob {
  std::string url;
  int seconds = 0;
  std::uint64_t seed = 0;
  std::string log;
  std::size_t names = 0;  // "n0", "n1", ...; at least 3
  // The store is lost during the run: a call that fails because of it is repeated until the end.
  // Some holds last longer than their lease, so that they have to be renewed.
  bool losses = false;
};

int hammer(const HammerJob& job);

}  // namespace lockset::conformance
