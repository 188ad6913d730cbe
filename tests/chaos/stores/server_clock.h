// The wall clock of a private server, which can be stepped while it runs.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "lockset/clock.h"

namespace lockset::chaos {

class ServerClock {
 public:
  // What the server needs in its environment at its start: see scripts/server.
  static std::string environment() { return "LOCKSET_SERVER_CLOCK=" LOCKSET_CLOCK_SHIM; }

  // The `folder` of the server.
  explicit ServerClock(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Steps it by that much, at once and permanently.
  void step(Duration by);
  // Moves it as far ahead as it ever was: never behind a time that it has shown.
  void catch_up() { step(farthest_ - offset_); }

 private:
  std::filesystem::path folder_;
  Duration offset_{};
  Duration farthest_{};
};

}  // namespace lockset::chaos
