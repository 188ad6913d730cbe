// A worker that forks: the child works by itself for a while, as a process of its own in the
// history, while its parent goes on, or closes what it had open.
#pragma once

#include <sys/types.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "tests/chaos/worker.h"

namespace lockset::chaos {

// For the main thread of a worker: a child dies with the thread that made it.
class Forks {
 public:
  // `parent`: how this process works, and outlives this. `stop` as in work().
  Forks(const WorkerOptions& parent, test::Recorder& recorder, std::function<bool()> stop);
  Forks(const Forks&) = delete;
  Forks& operator=(const Forks&) = delete;

  // One more child, unless one lives still, that works for so long; noted as a fault, and printed
  // as "forked NAME". Throws when one has ended badly.
  void fork_one(std::uint64_t seed, Duration time);
  // Waits for the last one. REQUIRES: `stop` holds. Throws as above, or if it does not end.
  void finish();

 private:
  [[noreturn]] void live(const std::string& name, std::uint64_t seed, Duration time, pid_t parent);
  [[noreturn]] static void become(const WorkerOptions& options, Duration time);
  // Whether the child has ended; looks at how.
  bool reaped(bool wait);

  const WorkerOptions& parent_;
  test::Recorder& recorder_;
  const std::function<bool()> stop_;
  std::size_t made_ = 0;
  pid_t child_ = -1;  // none
  std::string name_;
};

}  // namespace lockset::chaos
