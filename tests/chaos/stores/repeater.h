// Something done again and again beside the run, as long as a fault lasts.
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

  // Does `work` on a thread of its own, at once and then `pause` after each time. What it
  // throws is passed over: the store may be in other trouble, too.
  void start(Duration pause, std::function<void()> work);
  // Once the work under way is done.
  void stop();
  // How often the work was done to its end since start().
  [[nodiscard]] std::size_t done() const { return done_; }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::atomic<std::size_t> done_ = 0;
  std::jthread thread_;
};

}  // namespace lockset::chaos
