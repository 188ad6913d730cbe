#include "backends/sqlite/file_gate.h"

#include <algorithm>
#include <chrono>

namespace lockset::sqlite {
namespace {

using std::chrono::milliseconds;

// Nobody announces that a process died with the lock. Many waiters together find out as soon as a
// single one would: if all of them looked so often, no time would be left for the work.
constexpr Duration look_again = milliseconds(50);
constexpr Duration look_again_at_last = milliseconds(500);
constexpr std::uint32_t lookers = 8;

Duration next_look(std::uint32_t sleepers) {
  return std::min<Duration>(look_again * std::max(1U, sleepers / lookers), look_again_at_last);
}

// Longer than any usual transaction and its fsync.
constexpr Duration longest_turn = milliseconds(500);

}  // namespace

FileGate::Pass FileGate::enter(TimePoint by, Line line) {
  // Nobody waits: pass at once. A process that comes to wait meanwhile loses nothing: this call
  // could have been a little earlier.
  const bool empty = file_.word(turn.sleepers).load() == 0 && file_.word(work.sleepers).load() == 0;
  if (empty && file_.try_lock(work.byte)) {
    stuck_at_.reset();
    return Pass(*this);
  }
  // For each process inside, at most one more waits at this door: those that make room get in
  // between.
  if (line == Line::ahead) return lock(work, by) ? Pass(*this) : Pass();
  if (!lock(turn, by)) return {};
  const bool passed = lock(work, by);
  unlock(turn);
  return passed ? Pass(*this) : Pass();
}

bool FileGate::lock(const Part& part, TimePoint by) {
  if (file_.try_lock(part.byte)) {
    // Only passing the whole gate proves that it moves.
    if (&part == &work) stuck_at_.reset();
    return true;
  }
  struct Sleeper {
    std::atomic_ref<std::uint32_t> count;
    explicit Sleeper(std::atomic_ref<std::uint32_t> to) : count(to) { ++count; }
    ~Sleeper() { --count; }
  };
  const Sleeper sleeper(file_.word(part.sleepers));
  std::uint32_t progress = file_.word(work.raised).load();
  if (stuck_at_ == progress) return false;
  TimePoint patient_until = BootClock::now() + longest_turn;
  for (;;) {
    const std::uint32_t seen = file_.word(part.raised).load();
    if (file_.try_lock(part.byte)) {
      if (&part == &work) stuck_at_.reset();
      return true;
    }
    const TimePoint now = BootClock::now();
    if (now >= by) return false;
    if (const std::uint32_t moved = file_.word(work.raised).load(); moved != progress) {
      progress = moved;
      patient_until = now + longest_turn;
    } else if (now >= patient_until) {
      stuck_at_ = progress;
      return false;
    }
    file_.sleep_on(
        part.raised, seen,
        std::min({next_look(file_.word(part.sleepers).load()), by - now, patient_until - now}));
  }
}

void FileGate::unlock(const Part& part) {
  file_.unlock(part.byte);
  // The word is raised before the sleepers are counted, and sleepers count themselves before they
  // look at the word: so one of the two sees the other.
  ++file_.word(part.raised);
  if (file_.word(part.sleepers).load() > 0) file_.wake(part.raised, 1);
}

}  // namespace lockset::sqlite
