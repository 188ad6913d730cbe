// The processes that hammer the space: started, killed, stopped and watched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/chaos/options.h"
#include "tests/chaos/process.h"
#include "tests/chaos/stores/store.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

// Where a run keeps what it writes.
struct Folders {
  std::filesystem::path report;
  [[nodiscard]] std::filesystem::path logs() const { return report / "logs"; }
  [[nodiscard]] std::filesystem::path output() const { return report / "output"; }
  [[nodiscard]] std::filesystem::path resource() const { return report / "resource"; }
  [[nodiscard]] std::filesystem::path servers() const { return report / "server-logs"; }
};

// For the main thread (process.h says why).
class Workers {
 public:
  // `log`: that of the controller, where signals are noted before they are sent.
  // `loses_state`: faults will make the store lose its state.
  Workers(const Options& options, const Store& store, const Folders& folders, test::Recorder& log,
          bool loses_state);

  void start();
  // One that stands is let alone by both.
  void kill(std::size_t slot);  // another takes its place
  void stop(std::size_t slot, TimePoint until);
  // Continues those whose time is over; the time of the next one, max() if none stands.
  TimePoint continue_due(TimePoint now);
  void continue_all() { continue_due(TimePoint::max()); }
  // What is wrong with one that has ended by itself.
  std::optional<std::string> trouble();
  // All release what they hold and end, within the limit; what was wrong. Nobody stands.
  std::optional<std::string> finish(Duration limit);

  [[nodiscard]] std::size_t kills() const noexcept { return kills_; }
  [[nodiscard]] std::size_t stops() const noexcept { return stops_; }

 private:
  struct Slot {
    std::string name;  // of the process that has the place now
    std::unique_ptr<Process> process;
    std::optional<TimePoint> stands_until;
  };
  void fill(std::size_t slot);
  [[nodiscard]] std::string says(const Slot& slot, int code) const;

  const Options& options_;
  const Store& store_;
  const Folders folders_;
  test::Recorder& log_;
  const bool loses_state_;
  const std::filesystem::path stop_file_;
  std::vector<Slot> slots_;
  std::size_t started_ = 0;
  std::size_t kills_ = 0;
  std::size_t stops_ = 0;
};

}  // namespace lockset::chaos
