// A mutex for the threads of one process. It serves them in the order in which they came, and gives
// up at a deadline.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "lockset/clock.h"

namespace lockset::sqlite {

// Thread-safe.
class TurnQueue {
 public:
  // The owner of a true Turn has the turn, until the Turn is destroyed.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(TurnQueue& queue) : queue_(&queue) {}
    Turn(Turn&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (queue_) queue_->leave();
    }
    explicit operator bool() const noexcept { return queue_ != nullptr; }

   private:
    TurnQueue* queue_ = nullptr;
  };

  // An empty Turn if the deadline came first.
  Turn enter(TimePoint by);

 private:
  struct Waiter {
    std::condition_variable served;
    bool has_turn = false;
  };

  void leave();

  std::mutex mutex_;
  bool taken_ = false;
  std::deque<Waiter*> line_;
};

}  // namespace lockset::sqlite
