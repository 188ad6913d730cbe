#include "cli/options.h"

#include <algorithm>
#include <charconv>

#include "lockset/lock_set.h"
#include "lockset/locks.h"
#include "lockset/space_config.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

constexpr Option options[] = {
    {Opt::help, "help", 'h', Type::flag, "", "", false, false, "", "show this help"},
    {Opt::version, "version", 0, Type::flag, "", "", false, false, "", "show the version"},
    {Opt::verbose, "verbose", 'v', Type::flag, "", "", false, false, "",
     "report on standard error what happens to the lock"},
    {Opt::config, "config", 0, Type::path, "FILE", "LOCKSET_CONFIG", false, false, "",
     "read only this configuration file"},
    {Opt::url, "url", 0, Type::url, "URL", "LOCKSET_URL", true, false, "sqlite:",
     "address of the lock space; put one with a password into the environment or the file"},
    {Opt::password_file, "password-file", 0, Type::path, "FILE", "LOCKSET_PASSWORD_FILE", true,
     false, "", "the first line of FILE is the password that the address leaves out"},
    {Opt::migrate_from, "migrate-from", 0, Type::url, "URL", "LOCKSET_MIGRATE_FROM", true, false,
     "", "instead of --url, while locks move from one store to another: the old store"},
    {Opt::migrate_from_password_file, "migrate-from-password-file", 0, Type::path, "FILE",
     "LOCKSET_MIGRATE_FROM_PASSWORD_FILE", true, false, "",
     "as --password-file, for the old store"},
    {Opt::migrate_to, "migrate-to", 0, Type::url, "URL", "LOCKSET_MIGRATE_TO", true, false, "",
     "with --migrate-from: the new store"},
    {Opt::migrate_to_password_file, "migrate-to-password-file", 0, Type::path, "FILE",
     "LOCKSET_MIGRATE_TO_PASSWORD_FILE", true, false, "", "as --password-file, for the new store"},
    {Opt::app, "app", 0, Type::app, "ID", "LOCKSET_APP", true, false, "",
     "application id: only the same id may renew and release the hold (default: user@host)"},
    {Opt::label, "label", 0, Type::text, "TEXT", "LOCKSET_LABEL", true, false, "",
     "text that `lockset status` shows for the holder (default: user@host:pid and the command)"},
    {Opt::io_timeout, "io-timeout", 0, Type::duration, "D", "LOCKSET_IO_TIMEOUT", true, false, "5s",
     "the longest time that one call to the store may take"},
    {Opt::patience, "patience", 0, Type::duration, "D", "LOCKSET_PATIENCE", true, false, "15s",
     "how long to retry while the store does not answer, also when opening it"},
    {Opt::log, "log", 0, Type::log_form, "FORM", "LOCKSET_LOG", true, false, "text",
     "how to say it: text or json (one object a line) on standard error, or syslog"},
    {Opt::lease, "lease", 0, Type::lease, "D", "LOCKSET_LEASE", true, false, "30s",
     "how long the lock survives without a renewal; at least 1s, or none"},
    {Opt::wait, "wait", 'w', Type::wait, "D", "LOCKSET_WAIT", true, false, "forever",
     "wait at most this long for the locks; 0 is the same as -n"},
    {Opt::no_wait, "no-wait", 'n', Type::flag, "", "", false, false, "",
     "do not wait: exit 75 if the locks are not free"},
    {Opt::conflict_code, "conflict-exit-code", 'E', Type::exit_code, "CODE",
     "LOCKSET_CONFLICT_EXIT_CODE", true, false, "75",
     "exit code if the locks are not free, with -n and at the end of -w (whose own code is 124); "
     "with 0 no message is printed"},
    {Opt::quiet, "quiet", 'q', Type::flag, "", "", false, false, "",
     "print nothing if the locks are not free; only the exit code tells"},
    {Opt::at_least, "at-least", 0, Type::duration, "D", "", false, false, "0s",
     "keep the locks at least this long, even if the command ends earlier"},
    {Opt::on_lost, "on-lost", 0, Type::on_lost, "ACTION", "LOCKSET_ON_LOST", true, false, "term",
     "if the lock is lost: term (SIGTERM, then SIGKILL after --grace), kill, or ignore"},
    {Opt::grace, "grace", 0, Type::duration, "D", "LOCKSET_GRACE", true, false, "5s",
     "time from SIGTERM to SIGKILL if the lock is lost"},
    {Opt::read_names, "read", 0, Type::name, "NAME", "", false, true, "",
     "lock NAME for reading; may be repeated"},
    {Opt::write_names, "write", 0, Type::name, "NAME", "", false, true, "",
     "lock NAME for writing; may be repeated"},
    {Opt::shell_line, "command", 'c', Type::text, "LINE", "", false, false, "",
     "instead of -- COMMAND: run LINE by /bin/sh -c"},
    // May stand in `all` twice, so that a second one can be refused: dropping a condition is
    // unsafe.
    {Opt::unless_changed, "unless-changed", 0, Type::text, "OBSERVATION", "", false, true, "",
     "grant only if nothing was written on any observed name since; otherwise exit 80 (-: the "
     "first line of standard input)"},
    {Opt::read_permits, "read", 0, Type::permits, "N", "", false, false, "",
     "how many read holds NAME admits at once"},
    {Opt::write_permits, "write", 0, Type::permits, "N", "", false, false, "",
     "how many write holds NAME admits at once"},
    {Opt::read_too, "read", 0, Type::flag, "", "", false, false, "",
     "remove the read permits (without either flag: both)"},
    {Opt::write_too, "write", 0, Type::flag, "", "", false, false, "",
     "remove the write permits (without either flag: both)"},
    {Opt::prefix, "prefix", 0, Type::text, "TEXT", "", false, false, "",
     "show the names that begin with TEXT"},
    {Opt::json, "json", 0, Type::flag, "", "", false, false, "", "print JSON for programs"},
    {Opt::max_lease, "max-lease", 0, Type::duration, "D", "", false, false, "",
     "the longest lease that the space grants (10m in a new space)"},
    {Opt::fair, "fair", 0, Type::overtakes, "K", "", false, false, "",
     "a waiter is overtaken at most K times (4 in a new space; 0: strictly in turn), or off"},
    {Opt::print, "print", 0, Type::flag, "", "", false, false, "",
     "print what init would do as a script, and connect to nothing"},
    {Opt::programs, "program", 0, Type::text, "ACCOUNT", "", false, true, "",
     "let this account of the store lock and look; it loses the rights of an operator"},
    {Opt::operators, "operator", 0, Type::text, "ACCOUNT", "", false, true, "",
     "let this account of the store also break holds, change permits and migrate"},
    {Opt::per_name, "per-name", 0, Type::flag, "", "", false, false, "",
     "stamps have to follow time only among the grants of each name, not in the whole space"},
    {Opt::copy_permits, "copy-permits", 0, Type::flag, "", "", false, false, "",
     "copy the permits and the longest lease of the old space to the new one"},
    {Opt::watch, "watch", 0, Type::flag, "", "", false, false, "",
     "continue until it is done, and show what it waits for"},
    {Opt::show_again, "watch", 0, Type::flag, "", "", false, false, "",
     "show it repeatedly, until interrupted"},
    {Opt::older_than, "older-than", 0, Type::duration, "D", "", false, false, "",
     "show only what was granted, or waits, for longer than this; exit 1 if there is any"},
    {Opt::output, "output", 'o', Type::path, "FILE", "", false, false, "",
     "write FILE instead of standard output; who reads it finds the former text or the new one"},
    {Opt::expiring_within, "expiring-within", 0, Type::duration, "D", "", false, false, "10s",
     "count the holds whose lease ends within this time"},
    {Opt::to_phase_ahead, "to", 0, Type::phase, "PHASE", "", false, false, "",
     "take all steps up to this phase (default: one step)"},
    {Opt::to_phase_back, "to", 0, Type::phase, "PHASE", "", false, false, "",
     "take all steps back to this phase (default: one step)"},
    {Opt::yes, "yes", 0, Type::flag, "", "", false, false, "", "do not ask"},
    {Opt::old_store_gone, "old-store-gone", 0, Type::flag, "", "", false, false, "",
     "do without the old store if it does not answer: it will never come back"},
};

constexpr MigrationPhase all_phases[] = {MigrationPhase::old_only, MigrationPhase::shadow,
                                         MigrationPhase::dual_old, MigrationPhase::dual_new,
                                         MigrationPhase::new_only, MigrationPhase::closed,
                                         MigrationPhase::finished};

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || stop != end || text.empty()) return {};
  return number;
}

bool is_one_of(const std::vector<std::string>& words, const std::string& value) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

std::optional<std::string> duration_complaint(const std::string& value) {
  const Result<Duration> duration = parse_duration(value);
  if (!duration) return duration.error().message;
  return {};
}

static_assert(default_max_overtakes == 4, "the help of --fair says so");

}  // namespace

std::span<const Option> all_options() noexcept { return options; }

const Option& option(Opt id) noexcept {
  for (const Option& candidate : options) {
    if (candidate.id == id) return candidate;
  }
  return options[0];  // not reached: every id has an entry
}

std::optional<std::string> complaint(const Option& option, const std::string& value) {
  switch (option.type) {
    case Type::flag:
    case Type::text:
    case Type::path:
    case Type::name:
    case Type::url:
      return {};
    case Type::app: {
      constexpr std::size_t max_app_bytes = 200;
      if (value.size() > max_app_bytes) {
        return "an application id has at most " + std::to_string(max_app_bytes) + " bytes";
      }
      if (const Status status = check_name(value); !status) {
        return in_quotes(value) + " is no application id: " + status.error().message;
      }
      return {};
    }
    case Type::duration:
      return duration_complaint(value);
    case Type::lease: {
      if (value == "none") return {};
      if (auto bad = duration_complaint(value)) return bad;
      if (duration_of(value) < min_lease) {
        return in_quotes(value) + " is too short for a lease: at least " +
               format_duration(min_lease) + ", or none";
      }
      return {};
    }
    case Type::wait:
      if (value == "forever") return {};
      return duration_complaint(value);
    case Type::on_lost:
      if (is_one_of(words_of(option.type), value)) return {};
      return in_quotes(value) + " is none of term, kill and ignore";
    case Type::log_form:
      if (is_one_of(words_of(option.type), value)) return {};
      return in_quotes(value) + " is no form of the log; there are text, json and syslog";
    case Type::phase: {
      if (phase_named(value)) return {};
      std::string all;
      for (const MigrationPhase each : all_phases) {
        all += (all.empty() ? "" : ", ") + std::string(to_string(each));
      }
      return in_quotes(value) + " is no phase; there are: " + all;
    }
    case Type::exit_code:
      if (number_of<std::uint8_t>(value)) return {};
      return in_quotes(value) + " is no exit code: a number from 0 to 255";
    case Type::overtakes: {
      const std::optional<std::uint32_t> count = overtakes_of(value);
      if (count && check_change(SetMaxOvertakes{*count})) return {};
      return in_quotes(value) + " is neither off nor a number from 0 to 1000000";
    }
    case Type::permits: {
      const auto count = number_of<std::uint32_t>(value);
      if (count && *count >= 1 && *count <= max_permits) return {};
      return in_quotes(value) + " is no number of permits: 1 to " + std::to_string(max_permits);
    }
  }
  return {};
}

std::vector<std::string> words_of(Type type) {
  switch (type) {
    case Type::on_lost:
      return {"term", "kill", "ignore"};
    case Type::log_form:
      return {"text", "json", "syslog"};
    case Type::lease:
      return {"none"};
    case Type::wait:
      return {"forever"};
    case Type::overtakes:
      return {"off"};
    case Type::phase: {
      std::vector<std::string> words;
      for (const MigrationPhase each : all_phases) words.emplace_back(to_string(each));
      return words;
    }
    default:
      return {};
  }
}

Duration duration_of(const std::string& value) {
  if (value == "none" || value == "forever") return Duration::max();
  return or_fail(parse_duration(value));
}

std::optional<std::uint32_t> overtakes_of(const std::string& value) {
  if (value == "off") return unlimited_overtakes;
  return number_of<std::uint32_t>(value);
}

std::string file_key(const Option& option) {
  constexpr std::string_view section = "migrate";
  std::string key(option.name);
  if (key.starts_with("migrate-")) key[section.size()] = '.';
  return key;
}

std::optional<MigrationPhase> phase_named(std::string_view text) {
  for (const MigrationPhase each : all_phases) {
    if (to_string(each) == text) return each;
  }
  return {};
}

std::string spelled(const Option& option) {
  std::string text;
  if (option.letter != 0) text = std::string("-") + option.letter + ", ";
  return text + "--" + std::string(option.name);
}

}  // namespace lockset::cli
