#include "core/machine.h"

#include <pthread.h>
#include <sys/random.h>
#include <time.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "core/fork_guard.h"
#include "core/signals_blocked.h"
#include "core/wait_until.h"

namespace lockset {

// --- time ---

TimePoint BootClock::now() noexcept {
#ifdef CLOCK_BOOTTIME
  constexpr clockid_t id = CLOCK_BOOTTIME;
#else
  constexpr clockid_t id = CLOCK_MONOTONIC;
#endif
  timespec ts{};
  clock_gettime(id, &ts);
  return TimePoint(std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec));
}

void sleep_until(TimePoint until, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  wait_until(never, lock, stop, until, [] { return false; });
}

// --- chance ---

namespace {

void fill_random(std::uint8_t* to, std::size_t size) {
  while (size > 0) {
    const ssize_t got = getrandom(to, size, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      std::perror("lockset: getrandom");  // every kernel that Lockset runs on has it
      std::abort();
    }
    to += got;
    size -= static_cast<std::size_t>(got);
  }
}

static_assert(sizeof(Token) == 16, "tokens are filled as one run of bytes");

}  // namespace

Token Token::random() {
  // One system call for many tokens. A forked child must not use the rest of its parent's.
  struct Supply {
    std::array<Token, 64> tokens;
    std::size_t left = 0;
    ForkGuard filled_in;
  };
  thread_local Supply supply;
  if (supply.left == 0 || supply.filled_in.in_child()) {
    fill_random(reinterpret_cast<std::uint8_t*>(supply.tokens.data()), sizeof supply.tokens);
    supply.left = supply.tokens.size();
    supply.filled_in = ForkGuard();
  }
  return supply.tokens[--supply.left];
}

Random& thread_random() {
  const auto seed = [] {
    const Token token = Token::random();
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < 8; ++i) value = value << 8 | token.bytes[i];
    return value;
  };
  thread_local Random random(seed());
  return random;
}

// --- threads ---

struct Thread::Impl {
  std::thread thread;
};

Thread::Thread() noexcept = default;
Thread::~Thread() = default;

void Thread::start(std::function<void()> run) {
  const SignalsBlocked blocked;
  impl_ = std::make_unique<Impl>(Impl{std::thread(std::move(run))});
}

bool Thread::joinable() const noexcept { return impl_ && impl_->thread.joinable(); }

void Thread::join() {
  impl_->thread.join();
  impl_.reset();
}

}  // namespace lockset
