// Moves a migration on.
#pragma once

#include <memory>

#include "lockset/backend.h"
#include "lockset/migration.h"
#include "tests/simulation/migration/setting.h"

namespace lockset::simulation {

// Used on a fiber. Each call returns by its `by`, more or less.
class Steering {
 public:
  Steering() = default;
  Steering(const Steering&) = delete;
  Steering& operator=(const Steering&) = delete;
  virtual ~Steering() = default;

  virtual Result<MigrationPhase> phase(TimePoint by) = 0;
  // One phase on, up to closed; one back, down to old_only.
  virtual Result<MigrationPhase> forward(TimePoint by) = 0;
  virtual Result<MigrationPhase> back(TimePoint by) = 0;
  virtual Result<MigrationPhase> finish(TimePoint by) = 0;
};

// Uses lockset::Migration.
std::unique_ptr<Steering> steer_by_product(std::unique_ptr<Backend> from,
                                           std::unique_ptr<Backend> to);
// A few lines that do what ADR 0035 says, or leave out what the mutant says. For stores whose
// config version grows by one with each change.
std::unique_ptr<Steering> steer_by_hand(std::unique_ptr<Backend> from, std::unique_ptr<Backend> to,
                                        Mutant mutant);

}  // namespace lockset::simulation
