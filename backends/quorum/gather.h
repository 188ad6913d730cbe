// The answers of several nodes to one question, as they come in.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/wait_until.h"
#include "lockset/error.h"

namespace lockset::quorum {

// How much longer the other nodes are waited for once a majority has answered: about as long as
// that took.
inline Duration grace(Duration so_far) {
  using std::chrono::milliseconds;
  return std::clamp<Duration>(3 * so_far, milliseconds(2), milliseconds(100));
}

// The same where every node's answer is wanted: one that does not answer for so long hangs.
inline constexpr Duration long_grace = std::chrono::seconds(2);

// Waits until all nodes answered, but not beyond `by`, and only a little once it is `enough`: for
// grace(), or for `least` if that is longer.
// REQUIRES: `lock` is locked; both conditions are asked under it.
template <class All, class Enough>
void wait_for_most(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                   TimePoint by, All all, Enough enough, Duration least = {}) {
  const TimePoint began = BootClock::now();
  if (!wait_until(changed, lock, by, [&] { return all() || enough(); }) || all()) return;
  const TimePoint now = BootClock::now();
  wait_until(changed, lock, std::min(by, now + std::max(least, grace(now - began))), all);
}

// Thread-safe. Shared by the call that asks and the work that answers, which may come later.
template <class T>
class Gather {
 public:
  using Answers = std::vector<std::optional<Result<T>>>;

  explicit Gather(std::size_t seats) : answers_(seats) {}

  // Before the node is asked.
  void expect() {
    const std::lock_guard lock(mutex_);
    ++expected_;
  }
  void put(std::size_t seat, Result<T> answer) {
    const std::lock_guard lock(mutex_);
    answers_[seat] = std::move(answer);
    ++answered_;
    changed_.notify_all();
  }
  // A copy of the answers so far; unset: none yet.
  template <class Enough>
  Answers wait(TimePoint by, Enough enough, Duration least_grace = {}) {
    std::unique_lock lock(mutex_);
    wait_for_most(
        changed_, lock, by, [&] { return answered_ == expected_; },
        [&] { return enough(std::as_const(answers_)); }, least_grace);
    return answers_;
  }
  Answers wait_for_all(TimePoint by) {
    return wait(by, [](const Answers&) { return false; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Answers answers_;
  std::size_t expected_ = 0;
  std::size_t answered_ = 0;
};

// How many nodes gave an answer that is no error.
template <class T>
std::size_t good_ones(const std::vector<std::optional<Result<T>>>& answers) {
  return static_cast<std::size_t>(std::count_if(
      answers.begin(), answers.end(), [](const auto& each) { return each && each->ok(); }));
}

}  // namespace lockset::quorum
