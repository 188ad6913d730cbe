#include "core/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <new>

namespace lockset {
namespace {

using Counter = std::atomic<std::uint64_t>;
static_assert(Counter::is_always_lock_free);

// The kernel empties the page in each child, even if _Fork or clone made it, which run no handler
// of pthread_atfork. The number is 0 there until the first call.
struct Page {
  Counter fallback{0};
  Counter* present = &fallback;
  bool wiped = false;

  Page() noexcept {
    void* const page = ::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return;
    present = new (page) Counter(0);
    wiped = ::madvise(page, sizeof(Counter), MADV_WIPEONFORK) == 0;
  }
};

// The greatest number given in this process or an ancestor. It is raised before the page is
// written: at whatever moment a fork happens, the child's next number is above its parent's.
Counter greatest{0};

std::uint64_t next() noexcept { return greatest.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace

std::uint64_t fork_generation() noexcept {
  // A number in memory is cheaper than the system call getpid.
  static Page page;
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] {
    // A kernel before 4.14 leaves the page as it was.
    if (!page.wiped) page.present->store(next(), std::memory_order_relaxed);
  });
  static_cast<void>(registered);
  std::uint64_t generation = page.present->load(std::memory_order_relaxed);
  if (generation != 0) [[likely]]
    return generation;
  const std::uint64_t mine = next();
  // Another thread of this process may have been first.
  return page.present->compare_exchange_strong(generation, mine, std::memory_order_relaxed)
             ? mine
             : generation;
}

}  // namespace lockset
