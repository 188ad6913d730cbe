// A worker that forks: the child works on its own for a while, as a separate process in the
// history, while its parent continues, or closes what it had open.
#pragma once

#include <sys/types.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "tests/chaos/worker.h"

namespace lockset::chaos {

// For the main thread of a worker: a child dies with the thread that forked it.
class Forks {
 public:
  // `parent`: the options of this process; they outlive this. `stop` as in work().
  Forks(const WorkerOptions& parent, test::Recorder& recorder, std::function<bool()> stop);
  Forks(const Forks&) = delete;
  Forks& operator=(const Forks&) = delete;

  // Forks another child, unless one is still alive; it works for `time`. Recorded as a fault, and
  // printed as "forked NAME". Throws if a child has ended with an error.
  void fork_one(std::uint64_t seed, Duration time);
  // Waits for the last child. REQUIRES: `stop` holds. Throws as above, or if the child does not
  // end.
  void finish();

 private:
  [[noreturn]] void live(const std::string& name, std::uint64_t seed, Duration time, pid_t parent);
  [[noreturn]] static void become(const WorkerOptions& options, Duration time);
  // Whether the child has ended; checks its status.
  bool reaped(bool wait);

  const WorkerOptions& parent_;
  test::Recorder& recorder_;
  const std::function<bool()> stop_;
  std::size_t made_ = 0;
  pid_t child_ = -1;  // none
  std::string name_;
};

}  // namespace lockset::chaos
