// Looks at the store from outside while the workers use it, and records snapshots of all holds. To
// disturb the workers, it also changes permits, and breaks a hold now and then.
//
//   Observer observer({.url = store.direct_url(), .log = folder + "/observer.log", ...});
//   observer.start();          // sets the permits of the hot names: before any worker starts
//   ...                        // workers run, faults come and go
//   ...                        // all workers have ended, the store is settled
//   observer.finish(left, limit);
//
// Thread-safety: all calls from one thread; it has its own thread in between.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "history/event.h"
#include "lockset/backend.h"
#include "tests/chaos/names.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

class Observer {
 public:
  struct Options {
    std::string url;  // without proxies
    std::string log;  // a new file
    std::uint64_t seed = 0;
    std::size_t names = 4;
    // Held while permits are changed; another holder may have changed them all.
    std::mutex* permits_turn = nullptr;
    Duration picture_every = std::chrono::milliseconds(100);
    Duration permits_every = std::chrono::milliseconds(700);
    // Zero: never.
    Duration break_every = std::chrono::seconds(3);
    // The longest time for one call. A hanging server delays it this long at most.
    Duration io_timeout = std::chrono::seconds(2);
  };
  // Counts what is left besides what the backend itself shows: as tests/chaos/stores does.
  using CountLeft = std::function<history::End()>;

  // Throws std::runtime_error if the store can't be opened or the log can't be made.
  explicit Observer(Options options);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer();

  // Throws std::runtime_error if the permits can't be set.
  void start();
  // Stops looking. Writes the `end` line when nothing is left, or after `limit`. Before that it
  // sweeps expired holds that nobody asks for, as any client's housekeeping does. Returns what was
  // left. REQUIRES: no worker runs, and the store works.
  history::End finish(const CountLeft& left, Duration limit);

  [[nodiscard]] std::uint64_t snapshots() const noexcept { return snapshots_; }

  // Whether it changes permits from now on; initially it does. One change may still be under way.
  void change_permits(bool wanted) noexcept { permits_change_ = wanted; }
  [[nodiscard]] bool changing_permits() const noexcept { return changing_; }

 private:
  void run(const std::stop_token& stop);
  // False: the store did not answer.
  bool take_picture();
  void change_one(const std::stop_token& stop);
  [[nodiscard]] bool read_permits();
  bool set_permits(HotName& name, Mode mode, std::uint32_t value, const std::stop_token& stop);
  void break_one();
  void end_cut();
  void count(const CountLeft& left, history::End& all);
  [[nodiscard]] TimePoint soon() const { return BootClock::now() + options_.io_timeout; }

  const Options options_;
  std::unique_ptr<Backend> backend_;  // null at the very end
  test::Recorder recorder_;
  std::mt19937_64 dice_;
  std::vector<HotName> names_;
  std::vector<Stamp> seen_;  // in the last snapshot
  bool cut_ = false;         // a session may still be ended for the last break
  std::atomic<std::uint64_t> snapshots_{0};
  std::atomic<bool> permits_change_{true};
  std::atomic<bool> changing_{false};
  std::jthread thread_;
};

}  // namespace lockset::chaos
