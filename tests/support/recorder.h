// Writes down what happens in a run, for the checker of histories (history/check.h).
// docs/history-format.md describes the format, and when to record each kind of event.
//
//   Recorder recorder("worker-3", folder + "/worker-3.log");     // for other processes to read
//   const std::uint64_t op = recorder.ask(wanted, lease, wait);
//   ...
//   recorder.record(history::Granted{op, stamp, until, floors});
//
// Each event is one write(2) to the file: a process that is killed loses at most the line that it
// was writing, and no earlier line.
//
// Thread-safety: all calls may come from any threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "history/event.h"
#include "lockset/clock.h"
#include "lockset/lock_set.h"

namespace lockset::test {

class Recorder {
 public:
  // Keeps the events in memory, for log().
  explicit Recorder(std::string process, const Clock& clock = real_clock());
  // Writes a new file. Throws std::runtime_error if it exists or can't be made. If a write fails,
  // the process ends: a missing event in a history would look like a fault of Lockset.
  Recorder(std::string process, const std::string& path, const Clock& clock = real_clock());
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder();

  [[nodiscard]] const std::string& process() const noexcept { return log_.process; }
  [[nodiscard]] TimePoint now() const noexcept { return clock_.now(); }

  // Records it at this moment.
  void record(history::What what) { record_at(now(), std::move(what)); }
  void record_at(TimePoint time, history::What what);

  // Records an acquire that is about to be called, and returns its new number. `permits`: for each
  // item's mode as the client knows them, or nothing.
  std::uint64_t ask(std::span<const LockRequest> wanted, Duration lease, Duration wait,
                    std::span<const std::uint32_t> permits = {}) {
    return ask_at(now(), wanted, lease, wait, permits);
  }
  std::uint64_t ask_at(TimePoint time, std::span<const LockRequest> wanted, Duration lease,
                       Duration wait, std::span<const std::uint32_t> permits = {});

  // A new number, for an observation or a validation.
  std::uint64_t next_op() { return ++ops_; }

  // The events in memory so far. REQUIRES: made without a path.
  [[nodiscard]] history::Log log() const;

 private:
  void write(const std::string& text);

  const Clock& clock_;
  std::atomic<std::uint64_t> ops_{0};
  int file_ = -1;  // -1: in memory
  mutable std::mutex mutex_;
  history::Log log_;
};

// `items` in the form of a history; `permits` as in Recorder::ask.
std::vector<history::Wish> wishes(std::span<const LockRequest> items,
                                  std::span<const std::uint32_t> permits = {});

}  // namespace lockset::test
