#include "backends/server/server_clock.h"

#include <cstdlib>
#include <string>

namespace lockset::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

}  // namespace

Finding examine_clock(std::int64_t server_us, std::int64_t asked_us, std::int64_t answered_us) {
  std::int64_t off_us = 0;
  if (server_us > answered_us) off_us = server_us - answered_us;
  if (server_us < asked_us) off_us = server_us - asked_us;
  if (std::abs(off_us) <= usual_difference.count()) {
    return {Finding::Level::good, "clock", "the server's agrees with this host's within 2 s"};
  }
  const milliseconds off = std::chrono::floor<milliseconds>(microseconds(std::abs(off_us)));
  return {
      Finding::Level::warning, "clock",
      "the server's is " + format_duration(off) + (off_us > 0 ? " ahead of" : " behind") +
          " this host's. No lease depends on that, but one of the two is wrong: have both kept by "
          "NTP. Stamps and the times that are shown follow the server's, and stepping it forward "
          "ends leases early"};
}

}  // namespace lockset::server
