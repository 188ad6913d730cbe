// A worker of the stores' tests: takes a name and releases it, again and again, and reports the
// results.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "lockset/lockset.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::chaos {

class Prober {
 public:
  // An answer that takes longer than this counts as trouble.
  static constexpr Duration limit = std::chrono::milliseconds(300);

  struct Seen {
    std::size_t good = 0;  // taken and released
    std::size_t bad = 0;   // errors
    std::size_t busy = 0;  // an earlier call's hold is in the way
    Duration quickest = Duration::max();
    Duration slowest{};
    std::string last_error;
  };

  explicit Prober(const std::string& url)
      : backend_(open_backend(url, test::soon()).value()), client_(backend_, "prober") {
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) once();
    });
  }

  // Since the last forget().
  [[nodiscard]] Seen seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    seen_ = {};
    ++round_;
  }

 private:
  void once() {
    std::size_t round = 0;
    {
      const std::lock_guard lock(mutex_);
      round = round_;
    }
    const TimePoint began = BootClock::now();
    test::Ask ask;
    ask.lease = std::chrono::seconds(2);
    ask.by = began + limit;
    std::string error;
    bool busy = false;
    const auto outcome = client_.ask({{"probe", Mode::write}}, ask);
    if (!outcome) {
      error = outcome.error().message;
    } else if (const auto* grant = std::get_if<Grant>(&outcome.value())) {
      const auto released = backend_->release(grant->stamp, "prober", began + limit);
      if (!released) error = released.error().message;
    } else {
      busy = true;
    }
    const Duration took = BootClock::now() - began;
    const std::lock_guard lock(mutex_);
    if (round != round_) return;  // begun before
    seen_.quickest = std::min(seen_.quickest, took);
    seen_.slowest = std::max(seen_.slowest, took);
    if (error.empty()) {
      ++(busy ? seen_.busy : seen_.good);
    } else {
      ++seen_.bad;
      seen_.last_error = error;
    }
  }

  std::shared_ptr<Backend> backend_;
  test::Client client_;
  std::mutex mutex_;
  Seen seen_;
  std::size_t round_ = 0;
  std::jthread thread_;
};

}  // namespace lockset::chaos
