// The time of both stores as one clock: the core compares readings with each other (semantics 20),
// and a change of the phase must not look like a stepped clock.
//
// It continues the clock of the store that was read first. How far the other one is ahead is
// learned from a hold in both, or, without one, from the time that passed here since the last
// reading.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include "lockset/clock.h"

namespace lockset::migrate {

class StoreTime {
 public:
  // Readings of both clocks, each with the moment at which it was received; the first one was
  // requested at `sent`. The shortest exchange is the most exact one, and counts.
  void learn(TimePoint sent, std::int64_t old_us, TimePoint old_at, std::int64_t new_us,
             TimePoint new_at) {
    const std::lock_guard lock(mutex_);
    if (ahead_us_ && new_at - sent >= uncertainty_) return;
    uncertainty_ = new_at - sent;
    ahead_us_ = new_us - old_us - us(new_at - old_at);
  }
  [[nodiscard]] std::int64_t of_old(std::int64_t reading) {
    return shown(Store::old_store, reading, BootClock::now());
  }
  [[nodiscard]] std::int64_t of_new(std::int64_t reading) {
    return shown(Store::new_store, reading, BootClock::now());
  }
  // As far as it is known from the last reading; 0 before the first.
  [[nodiscard]] std::int64_t at(TimePoint now) const {
    const std::lock_guard lock(mutex_);
    return last_ ? last_->shown_us + us(now - last_->received) : 0;
  }

 private:
  enum class Store : std::uint8_t { old_store, new_store };
  struct Reading {
    std::int64_t shown_us;
    TimePoint received;
  };

  static std::int64_t us(Duration duration) {
    return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  }

  std::int64_t shown(Store store, std::int64_t reading, TimePoint now) {
    const std::lock_guard lock(mutex_);
    if (!counts_as_) counts_as_ = store;
    std::int64_t result = reading;
    if (store != *counts_as_) {
      if (!ahead_us_) {
        const std::int64_t expected = last_->shown_us + us(now - last_->received);
        ahead_us_ = store == Store::new_store ? reading - expected : expected - reading;
        uncertainty_ = Duration::max();  // a hold in both stores will be more exact
      }
      result += store == Store::new_store ? -*ahead_us_ : *ahead_us_;
    }
    last_ = {result, now};
    return result;
  }

  mutable std::mutex mutex_;
  std::optional<Store> counts_as_;        // the clock of the first reading
  std::optional<std::int64_t> ahead_us_;  // how far the new store's clock is ahead of the old one's
  Duration uncertainty_{};                // of ahead_us_
  std::optional<Reading> last_;
};

}  // namespace lockset::migrate
