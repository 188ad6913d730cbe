#include "core/tasks.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "core/time_math.h"

namespace lockset {

Tasks::~Tasks() = default;

bool Tasks::start_threads() {
  try {
    if (!looker_.joinable()) looker_.start([this] { look(); });
    if (idle_ < ready_.size() + 1 && workers_.size() < most_workers) {
      auto worker = std::make_unique<Thread>();
      worker->start([this] { work(); });
      workers_.push_back(std::move(worker));
    }
  } catch (const std::system_error&) {
    // Fewer threads do as well; none do not.
  }
  return looker_.joinable() && !workers_.empty();
}

bool Tasks::add(const std::shared_ptr<Task>& task, Place place) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || !start_threads()) return false;
  if (place == Place::front) {
    ready_.push_front(task);
  } else {
    ready_.push_back(task);
  }
  ready_changed_.notify_one();
  return true;
}

void Tasks::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
  }
  // First the looker: it hands over all tasks that wait. Then the workers end all tasks.
  waiting_changed_.notify_all();
  if (looker_.joinable()) looker_.join();
  {
    const std::lock_guard lock(mutex_);
    all_handed_over_ = true;
  }
  ready_changed_.notify_all();
  for (const auto& worker : workers_) worker->join();
}

void Tasks::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    // While another one is in a step it may come back.
    ++idle_;
    ready_changed_.wait(lock,
                        [&] { return !ready_.empty() || (all_handed_over_ && at_work_ == 0); });
    --idle_;
    if (ready_.empty()) break;
    std::shared_ptr<Task> task = std::move(ready_.front());
    ready_.pop_front();
    ++at_work_;
    const bool closing = stopping_;
    lock.unlock();
    const TimePoint until = task->step(closing);
    const bool over = until == TimePoint::min();
    if (over) task.reset();  // may release a hold
    lock.lock();
    --at_work_;
    if (over) continue;
    if (stopping_) {
      ready_.push_back(std::move(task));
    } else {
      arrived_.push_back({std::move(task), until});
      waiting_changed_.notify_one();
    }
  }
  ready_changed_.notify_all();  // the others may end, too
}

void Tasks::look() {
  std::vector<Waiting> waiting;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (waiting.empty()) {
      waiting_changed_.wait(lock, [&] { return stopping_ || !arrived_.empty(); });
    } else {
      waiting_changed_.wait_for(lock, look_every, [&] { return stopping_; });
    }
    std::move(arrived_.begin(), arrived_.end(), std::back_inserter(waiting));
    arrived_.clear();
    const bool all = stopping_;
    lock.unlock();
    const TimePoint now = BootClock::now();
    const auto due = std::partition(waiting.begin(), waiting.end(), [&](const Waiting& each) {
      return !all && now < each.until && !each.task->is_due();
    });
    lock.lock();
    for (auto each = due; each != waiting.end(); ++each) {
      start_threads();
      ready_.push_back(std::move(each->task));
      ready_changed_.notify_one();
    }
    waiting.erase(due, waiting.end());
    if (all) return;  // the workers keep what comes out of a step now
  }
}

}  // namespace lockset
