// One run: a store, processes that use it, faults, calm, and the recorded history.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/chaos/course.h"
#include "tests/chaos/options.h"
#include "tests/chaos/progress.h"
#include "tests/chaos/store_trouble.h"
#include "tests/chaos/workers.h"

namespace lockset::chaos {

struct Outcome {
  std::string store;    // "postgresql:advisory"
  std::string version;  // "PostgreSQL 15.8"
  Duration lease{};
  Duration lasted{};  // from the first process to the end of the faults
  bool interrupted = false;
  std::size_t kills = 0;
  std::size_t stops = 0;
  std::size_t forks = 0;
  bool converts = false;                // the store can upgrade and downgrade what is held
  std::map<std::string, Given> faults;  // by name; also faults that were not given
  // How often a client reported that the server's clock had stepped.
  std::size_t steps_noticed = 0;
  // What is wrong apart from the history, one text each: a process that ended on its own, a fault
  // that could not be given, a store that did not come back.
  std::vector<std::string> troubles;
  history::Rules rules;
  std::vector<history::Invariant> not_judged;
};

// How long the faults last; the calm comes after them.
Duration time_of_faults(const Options& options);

// Writes into `folders`, which exist; the logs are complete when it returns. Throws tools::Failure
// for wrong usage.
Outcome run(const Options& options, const Folders& folders, Store& store, Course& course,
            Progress& progress);

}  // namespace lockset::chaos
