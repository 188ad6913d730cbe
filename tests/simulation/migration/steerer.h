// A person who moves a migration on: forward and back while anything may go wrong, and to its end
// or its start when all is calm.
#pragma once

#include <memory>

#include "tests/simulation/migration/program.h"
#include "tests/simulation/migration/steering.h"

namespace lockset::simulation {

class Steerer {
 public:
  // All references must outlive it.
  Steerer(World& world, const Setting& setting, Process& process, Lines& lines)
      : world_(world), setting_(setting), process_(process), lines_(lines) {}

  // Each runs on a fiber of the process, until all is calm or the process dies.
  void wander();
  // Unset if that failed.
  std::optional<MigrationPhase> bring_home();

 private:
  std::unique_ptr<Steering> steering();
  void sleep(Duration time);

  World& world_;
  const Setting& setting_;
  Process& process_;
  Lines& lines_;
};

}  // namespace lockset::simulation
