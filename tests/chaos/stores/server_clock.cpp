#include "tests/chaos/stores/server_clock.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>

namespace lockset::chaos {

void ServerClock::step(Duration by) {
  offset_ += by;
  farthest_ = std::max(farthest_, offset_);
  const std::int64_t offset = offset_.count();
  const std::filesystem::path path = folder_ / "clock";
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool done = file >= 0 && pwrite(file, &offset, sizeof offset, 0) == sizeof offset;
  if (file >= 0) close(file);
  if (!done) throw std::runtime_error("the clock in " + path.string() + " can't be set");
}

}  // namespace lockset::chaos
