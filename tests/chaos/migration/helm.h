// How to take a step of a migration: by the library, or by the command, as a person does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "lockset/clock.h"
#include "lockset/error.h"
#include "lockset/migration.h"
#include "tests/chaos/migration/journey.h"

namespace lockset::chaos {

// Takes the step `act`, which leads to the phase `to`; returns roughly by `by`. Unset: it is done.
// `migration` belongs to the calling thread, over the same two stores.
using Helm = std::function<std::optional<Error>(Migration& migration, Act act, MigrationPhase to,
                                                TimePoint by)>;

Helm by_library();

struct Command {
  std::string program;  // lockset
  std::string from;     // without proxies
  std::string to;
  std::filesystem::path output;  // a file; everything that it prints is added there
  // Kills the command during its work now and then.
  bool kills = false;
  std::uint64_t seed = 0;
};
Helm by_command(Command command);

}  // namespace lockset::chaos
