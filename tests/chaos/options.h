// The options of a chaos run, from the command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockset/clock.h"
#include "tests/chaos/migration/journey.h"

namespace lockset::chaos {

// A migration instead of a run on one backend.
struct Migrate {
  std::string from;  // as Store::find returns them
  std::string to;
  // The course goes from there back to the beginning, before it goes all the way forward.
  std::optional<MigrationPhase> back_from;
  // The command that takes the steps; empty: the library does.
  std::string command;
  // Two people steer at once for a while.
  bool quarrels = true;
};

struct Options {
  std::string backend;  // as Store::find returns it; for a migration "FROM -> TO"
  std::optional<Migrate> migrate;
  Duration time{};
  std::uint64_t seed = 0;
  std::size_t processes = 8;
  std::size_t names = 6;
  std::size_t threads = 2;  // per process
  // Names and kinds of faults, "kill", "stop", "all"; empty: none.
  std::vector<std::string> faults{"all"};
  std::filesystem::path report;  // empty: a new one

  // Whether a fault of this name and kind was asked for.
  [[nodiscard]] bool wants(const std::string& fault, const std::string& kind) const;
  // The server's clock steps forward in this run.
  [[nodiscard]] bool clock_forward() const;
  // The command line that repeats this run.
  [[nodiscard]] std::string command() const;
};

// Throws tools::Failure(exit_usage) with one line.
Options parse_options(const std::vector<std::string>& words);

// The text of --help.
std::string usage();

}  // namespace lockset::chaos
