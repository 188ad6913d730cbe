// How a step of a migration is made: by the library, or by the command, as a person does.
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

// Makes the step `act`, which leads to the phase `to`; returns by `by`, more or less. Unset: it is
// done. `migration`: of the thread that calls, over the same two stores.
using Helm = std::function<std::optional<Error>(Migration& migration, Act act, MigrationPhase to,
                                                TimePoint by)>;

Helm by_library();

struct Command {
  std::string program;  // lockset
  std::string from;     // past all proxies
  std::string to;
  std::filesystem::path output;  // a file, to which all is added that it says
  // It is killed in the middle now and then.
  bool kills = false;
  std::uint64_t seed = 0;
};
Helm by_command(Command command);

}  // namespace lockset::chaos
