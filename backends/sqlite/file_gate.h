// A fair gate between the processes that use one database: it decides which one writes next.
//
// SQLite's own wait (busy_timeout) sleeps and tries again, so a process that has just committed
// beats all that sleep: measured, one of eight did nearly all the commits. The gate is a turnstile
// of two file locks: take "turn", take "work", release "turn"; work; release "work". The next
// process stands inside the turnstile with "turn", so that a process that has just left can't
// overtake it.
//
// A wait for a file lock has no deadline, and a thread that blocks in the kernel for it can't be
// ended when the backend is destroyed. So no thread blocks there: the locks are tried, and between
// tries the caller sleeps on a word that every unlock raises. A process that dies raises no word;
// the others find its locks free at their next look, at most 50 ms later.
//
// The gate makes writers fair, not safe: SQLite's own lock makes them safe. So callers pass a gate
// that does not move for half a second (its holder is stopped, or was forked while it held the gate
// and the child lives on): nobody at the gate can keep others from a database that is free.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "backends/sqlite/side_file.h"
#include "lockset/clock.h"

namespace lockset::sqlite {

// Not thread-safe: one caller at a time, ordered by a TurnQueue.
class FileGate {
 public:
  // The words of the side file from this index on are free for other uses.
  static constexpr std::size_t words_used = 64;

  // Leaves the gate when destroyed, if the gate was passed in order.
  class Pass {
   public:
    Pass() = default;
    explicit Pass(FileGate& gate) : gate_(&gate) {}
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&& other) noexcept {
      std::swap(gate_, other.gate_);
      return *this;
    }
    ~Pass() {
      if (gate_) gate_->unlock(work);
    }
    explicit operator bool() const noexcept { return gate_ != nullptr; }

   private:
    FileGate* gate_ = nullptr;
  };

  // REQUIRES: file outlives the gate.
  explicit FileGate(const SideFile& file) : file_(file) {}

  // Which line: callers that make room (release, renew) go before those that want room.
  enum class Line : std::uint8_t { all, ahead };

  // Waits for its turn, at the latest until `by`. The caller continues in any case; without a turn
  // it meets SQLite's own lock.
  Pass enter(TimePoint by, Line line = Line::all);
  // How often the gate was passed. If this grows while a caller gets no turn, the gate is crowded,
  // not stuck.
  [[nodiscard]] std::uint32_t passages() const noexcept { return file_.word(work.raised).load(); }

 private:
  // A byte to lock, the word that each unlock raises, and the number of sleepers (too high after a
  // sleeper was killed: that costs some needless system calls). Words are on separate cache lines.
  struct Part {
    std::int64_t byte;
    std::size_t raised;
    std::size_t sleepers;
  };
  static constexpr Part turn{0, 0, 16};
  static constexpr Part work{1, 32, 48};

  bool lock(const Part& part, TimePoint by);
  void unlock(const Part& part);

  const SideFile& file_;
  // The value of work's raised word when the gate was found stuck: no need to wait again while it
  // stays the same.
  std::optional<std::uint32_t> stuck_at_;
};

}  // namespace lockset::sqlite
