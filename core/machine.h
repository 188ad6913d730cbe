// What the core takes from the machine: time, sleep, threads and randomness.
//
// BootClock::now and Token::random belong here too. machine.cpp defines all of it except Alarm,
// which is in alarm.cpp; neither file defines anything else. So a program that defines all of these
// itself makes the linker use its own definitions, and the whole core runs on its time.
// tests/simulation does that (ADR 0030).
#pragma once

#include <functional>
#include <memory>
#include <stop_token>

#include "core/random.h"
#include "lockset/clock.h"
#include "lockset/stamp.h"

namespace lockset {

// Returns at `until` or when a stop is requested. It may not notice a suspend.
void sleep_until(TimePoint until, const std::stop_token& stop);

// Random numbers for jitter; one generator per thread.
Random& thread_random();

// A thread that receives no signal of the program.
//
// Thread-safety: one caller at a time.
class Thread {
 public:
  Thread() noexcept;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  ~Thread();  // REQUIRES: not joinable

  // Throws std::system_error if the system has no thread left. REQUIRES: not joinable.
  void start(std::function<void()> run);
  [[nodiscard]] bool joinable() const noexcept;
  // REQUIRES: joinable.
  void join();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockset
