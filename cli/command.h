// The commands: one table, which main uses to dispatch and from which the help is written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/options.h"
#include "cli/settings.h"

namespace lockset::cli {

struct Invocation {
  Settings settings;
  CommandLine line;
};

// What the words after the options are, for the completion.
enum class Operands { none, names, stamps, files };

struct Command {
  std::string_view name;
  std::string_view synopsis;     // without "lockset "; lines are split at '\n'
  std::string_view summary;      // one line
  std::string_view description;  // for `lockset help NAME`
  std::string_view examples;
  std::span<const Opt> options;
  // Returns the exit code. Throws Failure. REQUIRES: called from the main thread, before any other
  // thread was started.
  int (*run)(const Invocation& invocation);
  Operands operands = Operands::none;
  std::size_t common = 0;  // so many of the options come first in the help
};

std::span<const Command> all_commands() noexcept;
// Failure 64, naming the nearest one, if there is no command of that name.
const Command& find_command(std::string_view name);

// Failure 64 unless there are `least` to `most` operands and nothing after --.
void check_operands(const Invocation& invocation, std::size_t least, std::size_t most,
                    std::string_view what);

int run_command(const Invocation& invocation);
int acquire_command(const Invocation& invocation);
int renew_command(const Invocation& invocation);
int release_command(const Invocation& invocation);
int break_command(const Invocation& invocation);
int observe_command(const Invocation& invocation);
int validate_command(const Invocation& invocation);
int status_command(const Invocation& invocation);
int permits_list(const Invocation& invocation);
int permits_get(const Invocation& invocation);
int permits_set(const Invocation& invocation);
int permits_unset(const Invocation& invocation);
int init_command(const Invocation& invocation);
int doctor_command(const Invocation& invocation);
int metrics_command(const Invocation& invocation);
int migrate_plan(const Invocation& invocation);
int migrate_start(const Invocation& invocation);
int migrate_advance(const Invocation& invocation);
int migrate_status(const Invocation& invocation);
int migrate_rollback(const Invocation& invocation);
int migrate_finish(const Invocation& invocation);
int migrate_release_new(const Invocation& invocation);
int check_history_command(const Invocation& invocation);

}  // namespace lockset::cli
