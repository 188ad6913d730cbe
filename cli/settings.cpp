#include "cli/settings.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "cli/chat.h"
#include "cli/config_file.h"
#include "cli/password_file.h"
#include "lockset/lock_set.h"
#include "lockset/migration.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/nearest.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Whether the address shows a password.
bool has_secret(const std::string& url) {
  const Result<Url> parsed = Url::parse(url);
  const bool of_addresses = parsed && (parsed->scheme == "migrate" || parsed->scheme == "quorum");
  if (!of_addresses) return redact_url(url) != url;
  // The redacted text has the inner addresses decoded, so it always differs. A part that belongs to
  // none of the addresses may be the rest of a password that was not escaped.
  if (std::any_of(parsed->nodes.begin(), parsed->nodes.end(), has_secret)) return true;
  return std::any_of(parsed->params.begin(), parsed->params.end(), [&](const auto& param) {
    const bool inner =
        parsed->scheme == "migrate" && (param.first == "from" || param.first == "to");
    return !inner || has_secret(param.second);
  });
}

// An empty variable counts as unset, as the XDG specification has it.
std::optional<std::string> environment(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr || *value == '\0') return {};
  return value;
}

const Option* file_option(std::string_view key) {
  for (const Option& each : all_options()) {
    if (each.in_file && file_key(each) == key) return &each;
  }
  return nullptr;
}

[[noreturn]] void fail_unknown_key(const ConfigEntry& entry) {
  std::vector<std::string> in_file;
  for (const Option& each : all_options()) {
    if (each.in_file) in_file.push_back(file_key(each));
    if (!each.in_file && each.name == entry.key) {
      throw Failure(exit_config, entry.place + ": " + in_quotes(entry.key) +
                                     " may stand on the command line only; remove the line");
    }
  }
  const std::vector<std::string_view> keys(in_file.begin(), in_file.end());
  std::string hint = did_you_mean(entry.key, keys);
  if (hint.empty()) {
    hint = "; known are";
    for (const std::string_view key : keys) {
      hint += ' ';
      hint += key;
    }
  }
  throw Failure(exit_config, entry.place + ": unknown key " + in_quotes(entry.key) + hint);
}

// Other programs may use our prefix (our own tests do, and `run` gives LOCKSET_STAMP,
// LOCKSET_NAMES and LOCKSET_FLOORS to its child), so an unknown variable is no error. One that
// looks misspelt gets a warning: it would silently have no effect.
void warn_of_misspelt_variables() {
  std::vector<std::string_view> known;
  for (const Option& each : all_options()) {
    if (!each.env.empty()) known.push_back(each.env);
  }
  const std::set<std::string_view> ours{"LOCKSET_STAMP", "LOCKSET_NAMES", "LOCKSET_FLOORS"};
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const std::string_view name = entry.substr(0, entry.find('='));
    constexpr std::string_view prefix = "LOCKSET_";
    if (!name.starts_with(prefix) || ours.contains(name)) continue;
    // The prefix would make all variables look alike.
    std::vector<std::string_view> tails;
    bool exact = false;
    for (const std::string_view candidate : known) {
      exact = exact || candidate == name;
      tails.push_back(candidate.substr(prefix.size()));
    }
    if (exact) continue;
    const std::string hint = did_you_mean(name.substr(prefix.size()), tails, prefix);
    if (!hint.empty()) warn("ignoring the environment variable " + in_quotes(name) + hint);
  }
}

}  // namespace

void Settings::put(const Option& option, Value value) {
  const bool configured = value.source != Value::Source::flag;
  for (const std::string& text : value.texts) {
    if (const auto bad = complaint(option, text)) {
      throw Failure(configured ? exit_config : exit_usage,
                    configured && value.source == Value::Source::file
                        ? value.origin + ": " + file_key(option) + ": " + *bad
                        : value.origin + ": " + *bad);
    }
  }
  values_[option.id] = std::move(value);
}

void Settings::take_file(const std::optional<std::string>& named) {
  const std::optional<ConfigFile> file = read_config_file(named);
  if (!file) return;
  std::map<std::string, std::string> seen;
  for (const ConfigEntry& entry : file->entries) {
    const Option* const found = file_option(entry.key);
    if (found == nullptr) fail_unknown_key(entry);
    const auto [first, fresh] = seen.emplace(entry.key, entry.place);
    if (!fresh) {
      throw Failure(exit_config, entry.place + ": " + in_quotes(entry.key) +
                                     " was given before, at " + first->second);
    }
    put(*found, {{entry.value}, entry.place, Value::Source::file});
    if (found->type == Type::url && file->others_may_read && has_secret(entry.value)) {
      warn("everybody may read the password in " + file->path + "; chmod o-r " + file->path);
    }
  }
}

void Settings::take_environment() {
  for (const Option& each : all_options()) {
    if (each.env.empty()) continue;
    if (auto value = environment(each.env)) {
      put(each, {{std::move(*value)}, std::string(each.env), Value::Source::environment});
    }
  }
  warn_of_misspelt_variables();
}

void Settings::take_flags(const CommandLine& line) {
  for (const auto& [id, given] : line.given) {
    const Option& each = option(id);
    if (each.type == Type::url) {
      for (const std::string& url : given) {
        if (!has_secret(url)) continue;
        throw Failure(exit_usage, "--" + std::string(each.name) +
                                      " with a password shows it to everybody who runs ps; put the "
                                      "address into the environment variable " +
                                      std::string(each.env) + " or into lockset.conf (" +
                                      file_key(each) + " = ...)");
      }
    }
    Value value{given, "--" + std::string(each.name), Value::Source::flag};
    // As in most tools the last one wins, so that an alias can be overridden.
    if (!each.repeats) value.texts = {given.back()};
    put(each, std::move(value));
  }
}

Settings Settings::load(const CommandLine& line) {
  Settings settings;
  std::optional<std::string> file = environment(option(Opt::config).env);
  if (const auto flag = line.given.find(Opt::config); flag != line.given.end()) {
    file = flag->second.back();
  }
  // From the weakest to the strongest: each one replaces the values set before it.
  settings.take_file(file);
  settings.take_environment();
  settings.take_flags(line);
  settings.take_password(Opt::url, Opt::password_file);
  settings.take_password(Opt::migrate_from, Opt::migrate_from_password_file);
  settings.take_password(Opt::migrate_to, Opt::migrate_to_password_file);
  settings.take_migration();
  return settings;
}

void Settings::take_password(Opt url, Opt file) {
  if (!has(file) || !has(url)) return;
  Value& address = values_[url];
  address.texts = {with_password_from(text(file), origin(file), address.texts.back())};
}

void Settings::take_migration() {
  const auto wrong = [this](Opt culprit, const std::string& what) {
    return Failure(from_command_line(culprit) ? exit_usage : exit_config, what);
  };
  if (!has(Opt::migrate_from) && !has(Opt::migrate_to)) return;
  for (const auto& [given, missing] : {std::pair(Opt::migrate_from, Opt::migrate_to),
                                       std::pair(Opt::migrate_to, Opt::migrate_from)}) {
    if (has(missing)) continue;
    throw wrong(given, file_key(option(given)) + " is set (" + origin(given) + ") and " +
                           file_key(option(missing)) +
                           " is not; while locks move from one store to another both are needed");
  }
  for (const Opt other : {Opt::url, Opt::password_file}) {
    if (!has(other)) continue;
    throw wrong(other, file_key(option(other)) + " (" + origin(other) + ") and migrate.from (" +
                           origin(Opt::migrate_from) +
                           ") exclude each other: programs take their locks where the migration "
                           "stands; remove one of them (--config /dev/null ignores the file)");
  }
  // Every command uses both stores, as programs do.
  Value url;
  url.texts = {migrate_url(text(Opt::migrate_from), text(Opt::migrate_to))};
  url.origin = "migrate.from and migrate.to";
  url.source = Value::Source::environment;
  values_[Opt::url] = std::move(url);
}

const Settings::Value& Settings::value(Opt id) const {
  static const std::map<Opt, Value> fallbacks = [] {
    std::map<Opt, Value> result;
    for (const Option& each : all_options()) {
      Value& value = result[each.id];
      value.origin = "default";
      if (!each.fallback.empty()) value.texts = {std::string(each.fallback)};
    }
    return result;
  }();
  const auto found = values_.find(id);
  return found != values_.end() ? found->second : fallbacks.at(id);
}

bool Settings::has(Opt id) const { return values_.contains(id); }

const std::string& Settings::text(Opt id) const {
  static const std::string none;
  const Value& found = value(id);
  return found.texts.empty() ? none : found.texts.back();
}

const std::vector<std::string>& Settings::all(Opt id) const { return value(id).texts; }

Duration Settings::duration(Opt id) const { return duration_of(text(id)); }

const std::string& Settings::origin(Opt id) const { return value(id).origin; }

bool Settings::from_command_line(Opt id) const { return value(id).source == Value::Source::flag; }

}  // namespace lockset::cli
