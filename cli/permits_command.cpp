// lockset permits: how many holds of each mode a name admits.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/audit.h"
#include "cli/command.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

std::string name_of(const Invocation& invocation, std::string_view what) {
  check_operands(invocation, 1, 1, what);
  const std::string& name = invocation.line.operands.front();
  or_fail(check_name(name));
  if (name != default_permits_name && is_reserved_name(name)) {
    throw Failure(exit_usage,
                  "the lock name " + in_quotes(name) + " is reserved: it begins with @");
  }
  return name;
}

std::string count_text(const std::optional<std::uint32_t>& count) {
  return count ? std::to_string(*count) : "default";
}

void set(Locks& locks, const std::string& name, Mode mode, const Settings& settings, Opt id) {
  if (!settings.has(id)) return;
  const auto count = static_cast<std::uint32_t>(std::stoul(settings.text(id)));
  const Status done = locks.set_permits(name, mode, count);
  audit(settings, done, "permits set",
        in_quotes(name) + ": " + std::string(to_string(mode)) + " " + std::to_string(count));
  or_fail(done);
}

void unset(Locks& locks, const std::string& name, Mode mode, const Settings& settings) {
  const Status done = locks.set_permits(name, mode, {});
  audit(settings, done, "permits unset", in_quotes(name) + ": " + std::string(to_string(mode)));
  or_fail(done);
}

}  // namespace

int permits_list(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "permits list");
  Locks locks = open_space(invocation.settings);
  const SpaceConfig config = or_fail(locks.load_config());
  const Permits fallback = config.permits_of(default_permits_name);
  if (invocation.settings.has(Opt::json)) {
    nlohmann::ordered_json all;
    all[std::string(default_permits_name)] = {{"read", fallback.read}, {"write", fallback.write}};
    for (const auto& [name, entry] : config.permits) {
      if (name == default_permits_name) continue;
      const Permits permits = config.permits_of(name);
      all[name] = {{"read", permits.read}, {"write", permits.write}};
    }
    print(all.dump(2) + "\n");
    return exit_ok;
  }
  Table table({"NAME", "READ", "WRITE"});
  table.add({std::string(default_permits_name), std::to_string(fallback.read),
             std::to_string(fallback.write)});
  for (const auto& [name, entry] : config.permits) {
    if (name == default_permits_name) continue;
    table.add({shown(name), count_text(entry.read), count_text(entry.write)});
  }
  print(table.text());
  return exit_ok;
}

int permits_get(const Invocation& invocation) {
  const std::string name = name_of(invocation, "permits get NAME");
  Locks locks = open_space(invocation.settings);
  const Permits permits = or_fail(locks.load_config()).permits_of(name);
  print("read " + std::to_string(permits.read) + "\nwrite " + std::to_string(permits.write) + "\n");
  return exit_ok;
}

int permits_set(const Invocation& invocation) {
  const std::string name = name_of(invocation, "permits set NAME [--read N] [--write N]");
  const Settings& settings = invocation.settings;
  if (!settings.has(Opt::read_permits) && !settings.has(Opt::write_permits)) {
    throw Failure(exit_usage, "permits set needs --read N or --write N; see lockset help permits");
  }
  Locks locks = open_space(settings);
  set(locks, name, Mode::read, settings, Opt::read_permits);
  set(locks, name, Mode::write, settings, Opt::write_permits);
  return exit_ok;
}

int permits_unset(const Invocation& invocation) {
  const std::string name = name_of(invocation, "permits unset NAME [--read] [--write]");
  const bool read_too = invocation.settings.has(Opt::read_too);
  const bool write_too = invocation.settings.has(Opt::write_too);
  Locks locks = open_space(invocation.settings);
  if (read_too || !write_too) unset(locks, name, Mode::read, invocation.settings);
  if (write_too || !read_too) unset(locks, name, Mode::write, invocation.settings);
  return exit_ok;
}

}  // namespace lockset::cli
