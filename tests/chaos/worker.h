// A process of a chaos run: threads that take random sets of the hot names, keep them for a moment,
// sometimes longer than a lease, upgrade and downgrade them where the store can, and end them in
// every possible way; that look at names without
// taking them, and ask whether they have changed, by themselves or as a condition of an acquire.
// All of it is recorded. Failures of the store are recorded, and the process continues: it opens
// nothing again.
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
  // It forks now and then, and opens the space again (forks.h).
  bool forks = false;
  // It forks once, closes at once, prints "closed", and does nothing more.
  bool closes = false;
  // It takes one of kept_names() at a time, and keeps it for several leases.
  bool keeps = false;
  // Ends the process when this file exists.
  std::string stop;
  // The history of this process; those of its forks are next to it.
  std::string log;
  [[nodiscard]] std::string log_of(const std::string& name) const;
};

// Works until `stop` holds, which is checked all the time; then releases everything. Throws if
// something happens that no failure of the store explains.
void work(const WorkerOptions& options, std::shared_ptr<test::Recorder> recorder,
          const std::function<bool()>& stop);

}  // namespace lockset::chaos
