// The settings that apply: a flag overrides the environment, which overrides the file, which
// overrides the default.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/options.h"
#include "lockset/clock.h"

namespace lockset::cli {

class Settings {
 public:
  // Also reads the environment and the file, and checks every value, even of options that the
  // command does not use: a mistake is found when it is made. Failure 64 for a bad value of a flag,
  // 78 for one in the environment or the file.
  static Settings load(const CommandLine& line);

  [[nodiscard]] bool has(Opt id) const;  // set, not just the default
  // The value, or else the default, which may be empty.
  [[nodiscard]] const std::string& text(Opt id) const;
  [[nodiscard]] const std::vector<std::string>& all(Opt id) const;
  [[nodiscard]] Duration duration(Opt id) const;
  // The origin of the value, for messages: "--url", "LOCKSET_URL", "file:3", "default".
  [[nodiscard]] const std::string& origin(Opt id) const;
  [[nodiscard]] bool from_command_line(Opt id) const;

 private:
  struct Value {
    std::vector<std::string> texts;
    std::string origin;
    enum class Source { fallback, file, environment, flag } source = Source::fallback;
  };
  [[nodiscard]] const Value& value(Opt id) const;

  void take_file(const std::optional<std::string>& named);
  void take_environment();
  void take_flags(const CommandLine& line);
  void put(const Option& option, Value value);
  // Puts the first line of the file into the address, if both are given.
  void take_password(Opt url, Opt file);
  // Makes one address of migrate.from and migrate.to.
  void take_migration();

  std::map<Opt, Value> values_;
};

}  // namespace lockset::cli
