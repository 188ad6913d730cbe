// Threads that make the calls to one node: a call may take until its deadline, and must hold up
// neither the caller nor the calls to other nodes.
//
// Thread-safe.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/machine.h"

namespace lockset::quorum {

class Lane {
 public:
  // `true`: the lane is closed, and the work is to end at once.
  using Work = std::function<void(bool closed)>;

  explicit Lane(std::size_t most_threads) : most_threads_(most_threads) {}
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane() { close(); }

  // The threads start when they are needed. False, and the work is dropped: the lane is closed, so
  // much is waiting that the node can't keep up, or the system has no thread.
  bool add(Work work);
  // Ends what waits, and returns when the work under way is done.
  void close();

 private:
  static constexpr std::size_t longest_queue = 4096;
  void run();

  const std::size_t most_threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::size_t idle_ = 0;
  bool closed_ = false;
  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace lockset::quorum
