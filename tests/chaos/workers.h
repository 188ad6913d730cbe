// The processes that use the space: started, killed, stopped and watched.
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
  // A file of its name in this folder asks a process to end.
  [[nodiscard]] std::filesystem::path stops() const { return report / "stop"; }
};

// For the main thread (process.h says why).
class Workers {
 public:
  // `log`: the controller's log, in which signals are recorded before they are sent.
  // What faults will do to the store, so that the processes tolerate it.
  struct Losses {
    bool lost_state = false;  // it loses its state
    bool unfit = false;       // for a while it has no space, or is read-only
  };
  Workers(const Options& options, const Store& store, const Folders& folders, test::Recorder& log,
          Losses losses);

  // A process opens the space while nobody else has it open, forks, and closes: some stores do more
  // when the last client closes. Returns when it has closed; its forked child continues. REQUIRES:
  // nobody has the space open. Returns what went wrong.
  std::optional<std::string> open_and_fork(Duration limit);
  void start();
  // One more process, in addition to those in the slots, under this name and with this address.
  [[nodiscard]] std::unique_ptr<Process> one_more(const std::string& name, const std::string& url) {
    return start(name, url, Role::works);
  }
  // Where that process writes, and how it is asked to end.
  [[nodiscard]] std::filesystem::path log_of(const std::string& name) const;
  [[nodiscard]] std::filesystem::path output_of(const std::string& name) const;
  void ask_to_end(const std::string& name) const;

  // Asks the process in this slot to end in order; after that another one replaces it, with the
  // address that the store then gives the slot.
  void replace(std::size_t slot);
  [[nodiscard]] bool replacing(std::size_t slot) const {
    return slots_.at(slot).leaves_by.has_value();
  }
  // The process that has the slot now.
  [[nodiscard]] const std::string& name(std::size_t slot) const { return slots_.at(slot).name; }

  // Both leave a stopped process alone.
  void kill(std::size_t slot);  // another process replaces it
  void stop(std::size_t slot, TimePoint until);
  // Continues the processes whose stop is over; returns the end of the next stop, max() if none is
  // stopped.
  TimePoint continue_due(TimePoint now);
  void continue_all() { continue_due(TimePoint::max()); }
  // What is wrong with a process that ended on its own, or does not end although it was asked to.
  // Replaces the processes that were to be replaced.
  std::optional<std::string> trouble();
  // Continues stopped processes; then all release their holds and end, within the limit. Returns
  // what was wrong.
  std::optional<std::string> finish(Duration limit);

  [[nodiscard]] std::size_t kills() const noexcept { return kills_; }
  [[nodiscard]] std::size_t stops() const noexcept { return stops_; }

 private:
  struct Slot {
    std::string name;  // the process that has the slot now
    std::unique_ptr<Process> process;
    std::optional<TimePoint> stands_until;
    std::optional<TimePoint> leaves_by;  // it was asked to end
  };
  void fill(std::size_t slot);
  enum class Role : std::uint8_t { works, keeps, closes };
  [[nodiscard]] std::unique_ptr<Process> start(const std::string& name, const std::string& url,
                                               Role role);
  void record_kill(const Slot& slot);
  [[nodiscard]] std::string says(const Slot& slot, int code) const;

  const Options& options_;
  const Store& store_;
  const Folders folders_;
  test::Recorder& log_;
  const Losses losses_;
  std::vector<Slot> slots_;
  std::vector<Slot> others_;  // never killed or stopped
  std::size_t started_ = 0;
  std::size_t kills_ = 0;
  std::size_t stops_ = 0;
};

}  // namespace lockset::chaos
