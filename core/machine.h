// What the core takes from the machine that it runs on: time, sleep, threads and chance.
//
// BootClock::now and Token::random belong here too. All of it is defined in machine.cpp, and
// Alarm in alarm.cpp, and neither defines anything else: so a program that defines all of
// it itself gets its own in their place from the linker, and then has the whole core run
// on its time. That is how tests/simulation does it (ADR 0030).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "core/random.h"
#include "lockset/clock.h"
#include "lockset/stamp.h"

namespace lockset {

// Returns at `until` or when a stop is requested. Need not notice a suspend.
void sleep_until(TimePoint until, const std::stop_token& stop);

// For jitter; of the calling thread.
Random& thread_random();

// A thread that no signal of the program is delivered to.
//
// Thread-safety: one caller at a time.
class Thread {
 public:
  Thread() noexcept;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();  // REQUIRES: not joinable

  // Throws std::system_error if no thread can be had. REQUIRES: not joinable.
  void start(std::function<void()> run);
  [[nodiscard]] bool joinable() const noexcept;
  // REQUIRES: joinable.
  void join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset
