// Gives the store its faults by the schedule, on a separate thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/schedule.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

// The history of one fault in a run.
struct Given {
  std::size_t times = 0;
  // How often it affected somebody, in total; unset: once each time.
  std::optional<std::size_t> hits;
};

// Thread-safe.
class StoreTrouble {
 public:
  // Called at each begin and end, for people.
  using Told = std::function<void(const std::string& line)>;

  // `chosen`: indices into store.faults(); if there are none, it does nothing. `log`: the
  // controller's log.
  StoreTrouble(Store& store, std::vector<std::size_t> chosen, Duration longest_calm,
               std::uint64_t seed, test::Recorder& log, Told told);
  StoreTrouble(const StoreTrouble&) = delete;
  StoreTrouble& operator=(const StoreTrouble&) = delete;
  ~StoreTrouble() { end(); }

  // Ends the faults under way, and begins no more.
  void end();

  // "server-kill, delay", or "none".
  [[nodiscard]] std::string present() const;
  // By name; also faults that have not begun.
  [[nodiscard]] std::map<std::string, Given> given() const;
  [[nodiscard]] std::size_t total() const;
  // How long some fault was under way, in total.
  [[nodiscard]] Duration busy() const;
  // Why a fault could not be begun or ended.
  [[nodiscard]] std::optional<std::string> failure() const;

 private:
  struct Running {
    std::size_t fault = 0;
    TimePoint until;
  };
  void run(const std::stop_token& stop);
  void play(const StoreSchedule::Round& round, const std::stop_token& stop);
  bool begin(const StoreSchedule::One& one);
  void end_one(const Running& running);
  void wait(TimePoint until, const std::stop_token& stop);
  void fail(const std::string& what);
  [[nodiscard]] Fault& fault(std::size_t index) { return store_.faults().at(chosen_.at(index)); }

  Store& store_;
  const std::vector<std::size_t> chosen_;
  StoreSchedule schedule_;
  test::Recorder& log_;
  const Told told_;
  mutable std::mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<Running> running_;
  Duration busy_{};
  std::map<std::string, Given> given_;
  std::optional<std::string> failure_;
  std::jthread thread_;  // last: it uses all members above
};

}  // namespace lockset::chaos
