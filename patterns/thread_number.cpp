#include "patterns/thread_number.h"

#include <atomic>

namespace lockset {

std::uint64_t new_owner_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::uint64_t thread_number() noexcept {
  thread_local const std::uint64_t number = new_owner_number();
  return number;
}

}  // namespace lockset
