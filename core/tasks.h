// Many calls that mostly wait, on a few threads: ADR 0070.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/machine.h"
#include "lockset/clock.h"

namespace lockset {

// A call that runs in steps. One thread at a time uses it.
class Task {
 public:
  Task() = default;
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;
  virtual ~Task() = default;

  // Does what can be done now; it may wait for the store's answers, and for nothing else. Returns
  // when to go on, or TimePoint::min() if it is over. If `closing`, it ends now.
  virtual TimePoint step(bool closing) = 0;
  // Between two steps: true if the next one shall come now. It does not wait.
  virtual bool is_due() = 0;
};

// Runs tasks on at most `most_workers` threads, and looks on one more at those that wait. The
// threads start when they are needed.
//
// Thread-safe, except that stop() is called by one thread that is none of these.
class Tasks {
 public:
  static constexpr std::size_t most_workers = 4;
  // How often it looks at the tasks that wait.
  static constexpr Duration look_every = std::chrono::milliseconds(5);

  enum class Place : std::uint8_t { front, back };

  Tasks() = default;
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  ~Tasks();  // REQUIRES: stopped, or never used

  // False, and the task is not touched, if it has stopped or no thread can be started.
  bool add(const std::shared_ptr<Task>& task, Place place = Place::back);
  // Makes every task end, and waits for that. Later add() fails.
  void stop();

 private:
  struct Waiting {
    std::shared_ptr<Task> task;
    TimePoint until;
  };
  bool start_threads();  // REQUIRES: mutex_
  void work();
  void look();

  std::mutex mutex_;
  // The mutex guards all that follows, except the threads once it has stopped.
  std::condition_variable ready_changed_;
  std::condition_variable waiting_changed_;
  std::deque<std::shared_ptr<Task>> ready_;
  std::vector<Waiting> arrived_;  // begin to wait
  std::size_t idle_ = 0;
  std::size_t at_work_ = 0;  // tasks in a step
  bool stopping_ = false;
  bool all_handed_over_ = false;  // by the thread that looks, after it has stopped
  std::vector<std::unique_ptr<Thread>> workers_;
  Thread looker_;
};

}  // namespace lockset
