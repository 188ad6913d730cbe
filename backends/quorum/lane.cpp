#include "backends/quorum/lane.h"

#include <system_error>
#include <utility>

namespace lockset::quorum {

bool Lane::add(Work work) {
  const std::lock_guard lock(mutex_);
  if (closed_ || queue_.size() >= longest_queue) return false;
  if (idle_ <= queue_.size() && threads_.size() < most_threads_) {
    try {
      auto thread = std::make_unique<Thread>();
      thread->start([this] { run(); });
      threads_.push_back(std::move(thread));
    } catch (const std::system_error&) {
      if (threads_.empty()) return false;  // fewer threads do as well; none do not
    }
  }
  queue_.push_back(std::move(work));
  changed_.notify_one();
  return true;
}

void Lane::close() {
  std::vector<std::unique_ptr<Thread>> threads;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    threads.swap(threads_);
  }
  changed_.notify_all();
  for (const auto& thread : threads) thread->join();
}

void Lane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    changed_.wait(lock, [&] { return closed_ || !queue_.empty(); });
    --idle_;
    if (queue_.empty()) return;
    const Work work = std::move(queue_.front());
    queue_.pop_front();
    const bool closed = closed_;
    lock.unlock();
    work(closed);
    lock.lock();
  }
}

}  // namespace lockset::quorum
