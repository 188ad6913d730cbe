#include "backends/sqlite/liveness.h"

#include <random>

namespace lockset::sqlite {
namespace {

// Above the bytes of the gate. So many that none is ever drawn again.
constexpr std::int64_t first_byte = std::int64_t{1} << 40;
constexpr std::int64_t last_byte = (std::int64_t{1} << 62) - 1;

}  // namespace

Liveness::Liveness(const SideFile& file) : file_(file) {
  const std::int64_t identity = file.identity();
  std::random_device random;
  std::uniform_int_distribution<std::int64_t> bytes(first_byte, last_byte);
  constexpr int attempts = 3;
  for (int i = 0; i < attempts && !own_ && identity != 0; ++i) {
    const std::int64_t byte = bytes(random);
    // A lock that does not show is worth nothing.
    if (!file_.is_locked(byte) && file_.try_lock(byte)) own_ = Life{identity, byte};
  }
}

bool Liveness::is_over(const Life& life) const noexcept {
  if (!own_ || life.file != own_->file || life.byte == own_->byte) return false;
  return !file_.is_locked(life.byte);
}

}  // namespace lockset::sqlite
