// Who may write next: a fair gate between the processes that use one database.
//
// SQLite's own wait (busy_timeout) sleeps and tries again, so the process that has
// just committed wins over all that sleep: measured, one of eight did nearly all
// the commits. The gate is a turnstile of two file locks: take "turn", take
// "work", give "turn" back; work; give "work" back. Whoever is next stands inside
// the turnstile with "turn", so that a process that has just left can't overtake
// it.
//
// A file lock can't be waited for with a deadline, and a thread that blocks in the
// kernel for it can't be ended when the backend is destroyed. So nobody blocks
// there: the locks are tried, and between tries the caller sleeps on a word that
// whoever unlocks raises. A process that dies raises no word; its locks are found
// free at the next look, 50 ms later at most.
//
// The gate makes writers fair, it does not make them safe: SQLite's own lock does
// that. So a gate that does not move for half a second (its holder is stopped, or
// was forked while it held it and the child lives on) is passed by: nobody who
// stands at the gate can keep others from a database that is free.
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
  // The words of the side file from this one on are free for others.
  static constexpr std::size_t words_used = 64;

  // Leaves the gate when destroyed, if it was passed in order.
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

  // In which line: those who make room (release, renew) stand before those who want some.
  enum class Line : std::uint8_t { all, ahead };

  // Waits for its turn, until `by` at the latest. The caller goes on in any case;
  // without a turn it meets SQLite's own lock.
  Pass enter(TimePoint by, Line line = Line::all);
  // How often it was passed. If this goes up while a caller gets no turn, then nobody is stuck:
  // there are many.
  [[nodiscard]] std::uint32_t passages() const noexcept { return file_.word(work.raised).load(); }

 private:
  // A byte to lock, the word raised at each unlock, and the number of sleepers
  // (too high after a sleeper was killed: some needless system calls then). Words
  // lie on cache lines of their own.
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
  // work's raised word when the gate was found stuck: no need to wait again while
  // it stands there.
  std::optional<std::uint32_t> stuck_at_;
};

}  // namespace lockset::sqlite
