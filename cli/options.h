// The one definition of every option. The command line, the environment and the file are read by
// it, and the help is written from it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/clock.h"
#include "lockset/migration.h"

namespace lockset::cli {

enum class Opt {
  help,
  version,
  verbose,
  log,
  config,
  url,
  password_file,
  migrate_from,
  migrate_from_password_file,
  migrate_to,
  migrate_to_password_file,
  app,
  label,
  io_timeout,
  patience,
  lease,
  wait,
  no_wait,
  conflict_code,
  quiet,
  at_least,
  on_lost,
  grace,
  read_names,
  write_names,
  shell_line,
  unless_changed,
  read_permits,
  write_permits,
  read_too,
  write_too,
  prefix,
  json,
  max_lease,
  fair,
  print,
  programs,
  operators,
  per_name,
  copy_permits,
  watch,
  show_again,
  older_than,
  output,
  expiring_within,
  to_phase_ahead,
  to_phase_back,
  yes,
  old_store_gone,
};

enum class Type {
  flag,       // given or not
  text,       // anything
  path,       // of a file
  url,        // of a lock space; never shown unredacted
  app,        // an application id
  name,       // of a lock; checked with the whole set
  duration,   // "30s"
  lease,      // a duration, at least min_lease, or "none"
  wait,       // a duration or "forever"
  on_lost,    // "term", "kill" or "ignore"
  exit_code,  // 0 to 255
  permits,    // a count
  phase,      // of a migration
  overtakes,  // a count, or "off"
  log_form,   // "text", "json" or "syslog"
};

struct Option {
  Opt id;
  std::string_view name;  // --name, and the key in the file
  char letter;            // -x, or 0
  Type type;
  std::string_view value;     // the name of the value in the help
  std::string_view env;       // empty: not from the environment
  bool in_file;               // allowed in a configuration file
  bool repeats;               // may be given more than once
  std::string_view fallback;  // the default; empty: none
  std::string_view help;
};

std::span<const Option> all_options() noexcept;
const Option& option(Opt id) noexcept;

// What is wrong with the value, or nothing. Never shows a secret.
std::optional<std::string> complaint(const Option& option, const std::string& value);

// The words that a value may be, if it may be a word; for the completion.
std::vector<std::string> words_of(Type type);

// REQUIRES: no complaint.
Duration duration_of(const std::string& value);  // "none", "forever": Duration::max()

// "off": unlimited_overtakes; unset if it is no number either.
std::optional<std::uint32_t> overtakes_of(const std::string& value);

// The key in the file: the option's name, except that "migrate-from" belongs to the section
// "migrate", as "migrate.from".
std::string file_key(const Option& option);

// The phase of this name; unset if there is none.
std::optional<MigrationPhase> phase_named(std::string_view text);

// "--name", with the letter if there is one: "-w, --wait".
std::string spelled(const Option& option);

}  // namespace lockset::cli
