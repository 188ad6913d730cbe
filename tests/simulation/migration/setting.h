// The kind of migration that a seed makes: the two stores' faults, the participants, the steering
// people, and the deliberate mistake.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "lockset/migration.h"
#include "tests/simulation/profile.h"

namespace lockset::simulation {

// Each is an implementation of ADR 0035 that leaves out one thing.
enum class Mutant : std::uint8_t {
  none,
  no_drain,           // the new store is opened while holds stand in the old one alone
  no_drain_back,      // dual_old is gone back to while holds stand in the new one alone
  legacy,             // clients of the old store that don't know of marks
  no_min_stamp,       // the new part of a hold is taken without the stamp of the old part
  no_base_back,       // the old store's stamp base is not raised on the way back
  no_fence_back,      // nor is the new store's version, before its greatest stamp is read
  lost_old_ignored,   // a client ignores that the old part of its hold is lost
  old_part_left_out,  // a client takes holds of both stores only in the new one
  no_base_forward,    // the old store's stamp base is not raised on the way to dual_new
  no_base_new,        // nor is the new store's
  old_stamps,         // the new store is opened while holds in both have stamps of the old one
  no_compare,         // a way back is completed although the new store was open in between
  unsaid_in_old,      // the old store does not say that a name which is observed is being written
};

// From a name such as "no-drain". Mutant::none for an unknown name.
Mutant mutant_of(std::string_view name);
// The promises that this mutant breaks.
std::set<std::string> broken_by(Mutant mutant);

struct Setting {
  // The clients, the network to each store, and each store's faults.
  Profile old_store;
  Profile new_store;
  // How far the calendar of the new store is ahead.
  Duration new_wall_ahead{};

  std::uint32_t programs = 3;
  std::uint32_t steerers = 1;
  // The share of a steerer's steps in which it dies.
  double steering_crashes = 0;
  // The share of its steps that go back.
  double backwards = 0;
  // The share of their changes before which they wait, and the longest wait.
  double hesitates = 0;
  Duration hesitation{};
  // They go there and back, and there again.
  bool rocks = false;
  // The share of its steps after which the next one follows at once.
  double bursts = 0;
  // The phase at the beginning: old_only, or a migration that was begun before.
  MigrationPhase begins = MigrationPhase::old_only;
  // The test itself takes the steps instead of lockset::Migration: needed for mistakes in them.
  bool by_hand = false;
  // Where it is brought when all is calm again: to the end or to the start.
  bool ends_finished = true;

  Mutant mutant = Mutant::none;
};

Setting make_setting(std::uint64_t seed, Mutant mutant);

}  // namespace lockset::simulation
