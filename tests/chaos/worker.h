// A process of a run of chaos: threads that take random sets of the hot names, keep them for a
// moment, now and then for longer than a lease, and let them go in every way there is; all of
// it recorded. Trouble of the store is recorded and gone on from: nothing is opened again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "lockset/clock.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

struct WorkerOptions {
  std::string url;
  std::string process;
  std::uint64_t seed = 0;
  std::size_t names = 4;
  std::size_t threads = 2;
  std::string resource;  // the folder of the fenced resources
  Duration lease = std::chrono::seconds(1);
  Duration io_timeout = std::chrono::seconds(1);
  bool lost_state = false;
  bool unfit = false;
  bool tell_failures = false;
  // It forks now and then, and opens the space anew (forks.h).
  bool forks = false;
  // It forks once, closes at once, prints "closed", and does nothing more.
  bool closes = false;
  // It takes one of kept_names() at a time, and keeps it for several leases.
  bool keeps = false;
  // Ends it when it is there.
  std::string stop;
  // Its history, and those of its forks beside it.
  std::string log;
  [[nodiscard]] std::string log_of(const std::string& name) const;
};

// Works until `stop` holds, which is asked all the time; then all is released. Throws when
// something happens that no trouble of the store explains.
void work(const WorkerOptions& options, std::shared_ptr<test::Recorder> recorder,
          const std::function<bool()>& stop);

}  // namespace lockset::chaos
