// lockset run
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/chat.h"
#include "cli/command.h"
#include "cli/default_file.h"
#include "cli/guard.h"
#include "cli/job.h"
#include "cli/lock_wait.h"
#include "cli/signals.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// The command, or the shell that runs -c LINE.
std::vector<std::string> command_of(const Invocation& invocation) {
  const CommandLine& line = invocation.line;
  const bool named = line.given.contains(Opt::read_names) || line.given.contains(Opt::write_names);
  if (line.given.contains(Opt::shell_line)) {
    if (line.has_child) {
      throw Failure(exit_usage, "-c LINE and -- COMMAND exclude each other; give one of them");
    }
    const std::string& text = invocation.settings.text(Opt::shell_line);
    if (text.empty()) throw Failure(exit_usage, "which command? -c needs a line for the shell");
    return {"/bin/sh", "-c", text};
  }
  if (!line.has_child && line.operands.size() > (named ? 0U : 1U)) {
    const std::string before = named ? "..." : line.operands.front();
    throw Failure(exit_usage, "put -- before the command: lockset run " + before + " -- " +
                                  line.operands[named ? 0 : 1] + "; see lockset help run");
  }
  if (line.child.empty() || line.child.front().empty()) {
    throw Failure(exit_usage, "which command? lockset run ... -- COMMAND; see lockset help run");
  }
  return line.child;
}

OnLost on_lost_of(const std::string& text) {
  if (text == "kill") return OnLost::kill;
  return text == "ignore" ? OnLost::ignore : OnLost::term;
}

// What the guard needs to release the hold: no file and no other variable can change it.
std::vector<std::string> environment_for_release(const Settings& settings) {
  std::vector<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) {
    if (!std::string_view(*each).starts_with("LOCKSET_")) all.emplace_back(*each);
  }
  all.emplace_back("LOCKSET_CONFIG=/dev/null");
  for (const Opt id : {Opt::url, Opt::app, Opt::io_timeout, Opt::patience}) {
    if (settings.has(id)) {
      all.push_back(std::string(option(id).env) + "=" + settings.text(id));
    }
  }
  return all;
}

}  // namespace

int run_command(const Invocation& invocation) {
  const Settings& settings = invocation.settings;
  JobPlan plan;
  plan.command = command_of(invocation);
  const WantedLocks wanted = wanted_locks_of(settings, invocation.line.operands);
  plan.on_lost = on_lost_of(settings.text(Opt::on_lost));
  plan.grace = settings.duration(Opt::grace);
  plan.at_least = settings.duration(Opt::at_least);
  plan.verbose = settings.has(Opt::verbose);

  warn_of_other_default_files(settings);
  Signals signals;
  // Fork it now, while this process is small, has one thread and has nothing open.
  std::optional<Guard> guard;
  if (plan.on_lost != OnLost::ignore) {
    // Nobody else may have the lock before --at-least is over.
    const bool releases = plan.at_least == Duration::zero();
    guard.emplace(
        GuardPlan{plan.on_lost == OnLost::kill ? SIGKILL : SIGTERM, plan.grace,
                  releases ? environment_for_release(settings) : std::vector<std::string>()});
  }
  const Chat chat(signals);
  Locked locked = take_locks(settings, wanted, plan.command.front(), signals);
  if (guard) guard->holds(locked.hold.stamp());
  if (plan.verbose && settings.has(Opt::lease) &&
      locked.hold.lease() < settings.duration(Opt::lease)) {
    say("the store grants a lease of " + format_duration(locked.hold.lease()) + " at most");
  }
  return run_job(plan, locked, signals, guard ? &*guard : nullptr);
}

}  // namespace lockset::cli
