#include "core/fork_guard.h"

#include <pthread.h>

#include <atomic>

namespace lockset {
namespace {

std::atomic<std::uint64_t> generation{0};

}  // namespace

std::uint64_t fork_generation() noexcept {
  // A counter that the child raises is cheaper than getpid, which is a system call.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  return generation.load(std::memory_order_relaxed);
}

}  // namespace lockset
