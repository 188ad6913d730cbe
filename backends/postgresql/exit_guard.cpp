#include "backends/postgresql/exit_guard.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <pqxx/version>

#include "core/machine.h"
#include "core/time_math.h"

namespace lockset::postgresql {

#if PQXX_VERSION_MAJOR < 7

namespace {

// A server that hangs must not keep the process from ending.
constexpr Duration longest_wait = std::chrono::seconds(2);

// Trivially destructible, because they are read until the process has ended.
std::atomic<int> calls = 0;
std::atomic<pid_t> process = 0;  // the process that makes these calls
std::atomic<bool> exiting = false;
std::atomic<bool> registered = false;

void wait_for_calls() {
  exiting = true;
  if (::getpid() != process.load()) return;  // a forked child that made no call
  const TimePoint until = later(BootClock::now(), longest_wait);
  while (calls.load() > 0 && BootClock::now() < until) {
    sleep_until(later(BootClock::now(), std::chrono::milliseconds(1)), {});
  }
}

}  // namespace

LibraryCall::LibraryCall() noexcept {
  const pid_t me = ::getpid();
  pid_t before = process.load();
  if (before != me && process.compare_exchange_strong(before, me)) calls = 0;
  // Count before looking: a call that the handler does not see sees `exiting`.
  ++calls;
  may_begin_ = !exiting.load();
}

LibraryCall::~LibraryCall() { --calls; }

void LibraryCall::got_result() noexcept {
  if (registered.load(std::memory_order_relaxed) || registered.exchange(true)) return;
  static_cast<void>(std::atexit(wait_for_calls));
}

#else

LibraryCall::LibraryCall() noexcept = default;
LibraryCall::~LibraryCall() = default;
void LibraryCall::got_result() noexcept {}

#endif

}  // namespace lockset::postgresql
