#include "tests/chaos/stores/repeater.h"

#include <exception>
#include <utility>

namespace lockset::chaos {

void Repeater::start(Duration pause, std::function<void()> work) {
  stop();
  done_ = 0;
  thread_ = std::jthread([this, pause, work = std::move(work)](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      try {
        work();
        ++done_;
      } catch (const std::exception&) {  // try again next time
      }
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, stop, pause, [] { return false; });
    }
  });
}

void Repeater::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace lockset::chaos
