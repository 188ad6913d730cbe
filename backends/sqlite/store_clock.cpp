#include "backends/sqlite/store_clock.h"

#include <chrono>
#include <fstream>
#include <string_view>

#include "lockset/clock.h"

namespace lockset::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// The offset of this process's time namespace from the host's boot clock; 0 without a namespace.
std::int64_t time_namespace_offset_us() {
  std::ifstream file("/proc/self/timens_offsets");
  std::string clock;
  std::int64_t seconds = 0;
  std::int64_t nanos = 0;
  while (file >> clock >> seconds >> nanos) {
    if (clock == "boottime") return seconds * 1'000'000 + nanos / 1'000;
  }
  return 0;
}

constexpr std::string_view unknown = "unknown";

}  // namespace

StoreClock StoreClock::make() {
  StoreClock clock;
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  if (!std::getline(file, clock.boot_id_)) clock.boot_id_ = unknown;
  clock.offset_us_ = time_namespace_offset_us();
  return clock;
}

bool StoreClock::knows_boot() const noexcept { return boot_id_ != unknown; }

std::int64_t StoreClock::now_us() const noexcept {
  return duration_cast<microseconds>(BootClock::now().time_since_epoch()).count() - offset_us_;
}

std::int64_t StoreClock::wall_us() noexcept {
  return duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace lockset::sqlite
