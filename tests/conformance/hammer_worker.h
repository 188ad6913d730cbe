// One process of the hammer: takes random sets for a while, and writes down when it
// surely held what.
#pragma once

#include <cstdint>
#include <string>

namespace lockset::conformance {

// Lines of the log, times in nanoseconds of BootClock:
//   G STAMP TIME r:a,w:b   granted; the acquire had returned by TIME
//   V STAMP TIME           valid() was asked at TIME or later, and answered true
//   R STAMP TIME           about to release
//   E TEXT                 an error that ought not to be
// From G to the last V or R the hold was held and valid. Ends when a file of the name
// stop_file lies beside the log, or after `seconds`. 0 if all went well.
inline constexpr const char* stop_file = "stop";
int hammer(const std::string& url, int seconds, std::uint64_t seed, const std::string& log);

}  // namespace lockset::conformance
