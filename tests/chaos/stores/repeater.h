// Repeats some work beside the run as long as a fault lasts.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>

#include "lockset/clock.h"

namespace lockset::chaos {

// For one thread.
class Repeater {
 public:
  Repeater() = default;
  Repeater(const Repeater&) = delete;
  Repeater& operator=(const Repeater&) = delete;
  ~Repeater() { stop(); }

  // Does `work` on a separate thread, at once and then `pause` after each time. Ignores what it
  // throws: the store may have other trouble, too.
  void start(Duration pause, std::function<void()> work);
  // Returns after the work under way.
  void stop();
  // How often the work was completed since start().
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<std::size_t> done_ = 0;
  std::jthread thread_;
};

}  // namespace lockset::chaos
