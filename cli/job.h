// Supervision for `lockset run`: a command that runs while a hold lasts.
#pragma once

#include <string>
#include <vector>

#include "cli/guard.h"
#include "cli/lock_wait.h"
#include "cli/signals.h"

namespace lockset::cli {

enum class OnLost { term, kill, ignore };

struct JobPlan {
  std::vector<std::string> command;
  OnLost on_lost = OnLost::term;
  Duration grace{};
  Duration at_least{};
  bool verbose = false;
};

// Runs the command, then releases the hold. Returns the exit code of `lockset run`. `guard` is null
// for OnLost::ignore. REQUIRES: the main thread.
int run_job(const JobPlan& plan, Locked& locked, Signals& signals, Guard* guard);

}  // namespace lockset::cli
