#include "tests/simulation/migration/setting.h"

#include <array>
#include <iterator>
#include <utility>

#include "core/random.h"
#include "history/check.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::array<std::pair<std::string_view, Mutant>, 13> mutants{{
    {"no-drain", Mutant::no_drain},
    {"no-drain-back", Mutant::no_drain_back},
    {"legacy", Mutant::legacy},
    {"no-min-stamp", Mutant::no_min_stamp},
    {"no-base-back", Mutant::no_base_back},
    {"no-fence-back", Mutant::no_fence_back},
    {"lost-old-ignored", Mutant::lost_old_ignored},
    {"old-part-left-out", Mutant::old_part_left_out},
    {"no-base-forward", Mutant::no_base_forward},
    {"no-base-new", Mutant::no_base_new},
    {"old-stamps", Mutant::old_stamps},
    {"no-compare", Mutant::no_compare},
    {"unsaid-in-old", Mutant::unsaid_in_old},
}};

// The profile of the new store: what holds in both stores share comes from the old one's.
Profile of_new_store(const Profile& of_old, std::uint64_t seed) {
  Profile profile = make_profile(seed ^ 0xB5297A4D3F84D5B5);
  profile.io_timeout = of_old.io_timeout;
  profile.patience = of_old.patience;
  profile.slowest = of_old.slowest;
  profile.traits = of_old.traits;
  profile.reads = of_old.reads;
  profile.writes = of_old.writes;
  profile.max_overtakes = of_old.max_overtakes;
  profile.calm = of_old.calm;
  profile.settled = of_old.settled;
  return profile;
}

void leave_out(Profile& profile) {
  profile.world = Profile::World::promised;
  profile.reclaim = false;
  profile.changes_permits = false;
  profile.long_leases = false;
  profile.breaks = false;
  profile.snapshots = false;
}

}  // namespace

Mutant mutant_of(std::string_view name) {
  for (const auto& [each, mutant] : mutants) {
    if (each == name) return mutant;
  }
  return Mutant::none;
}

std::set<std::string> broken_by(Mutant mutant) {
  const std::string exclusion(to_string(history::Invariant::exclusion));
  const std::string fencing(to_string(history::Invariant::fencing));
  const std::string resource(to_string(history::Invariant::resource));
  switch (mutant) {
    case Mutant::none:
      return {};
    case Mutant::no_drain:
    case Mutant::no_drain_back:
    case Mutant::legacy:
    case Mutant::lost_old_ignored:
    case Mutant::old_part_left_out:
    case Mutant::no_compare:
      return {exclusion};
    case Mutant::no_min_stamp:
    case Mutant::no_base_back:
    case Mutant::no_fence_back:
    case Mutant::no_base_new:
      return {fencing};
    case Mutant::unsaid_in_old:
      return {std::string(to_string(history::Invariant::observing))};
    case Mutant::no_base_forward:
    case Mutant::old_stamps:
      return {resource};
  }
  return {};
}

Setting make_setting(std::uint64_t seed, Mutant mutant) {
  Random random(seed ^ 0x9FB21C651E98DF25);
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  const auto up_to = [&](double most) {
    return most * static_cast<double>(random.below(1001)) / 1000;
  };
  Setting setting;
  setting.mutant = mutant;
  Profile& profile = setting.old_store;
  profile = make_profile(seed);
  leave_out(profile);
  profile.traits.observing = true;
  // The other mutants show without it.
  const bool observed = mutant == Mutant::none || mutant == Mutant::unsaid_in_old;
  profile.observes = observed && Random(seed ^ 0x3C6EF372FE94F82B).below(2) == 0;
  // Long enough to go there, back and there again.
  setting.by_hand = mutant != Mutant::none || one_in(2);
  // lockset::Migration watches drained stores for ten seconds.
  profile.calm =
      TimePoint(1h) + (setting.by_hand ? random.between(8s, 25s) : random.between(8s, 70s));
  if (one_in(4)) profile.longest_pause = 9s;
  profile.settled = profile.calm + 80s;
  setting.new_store = of_new_store(profile, seed);
  leave_out(setting.new_store);
  if (!one_in(3)) setting.new_wall_ahead = random.between(-1h, 1h);

  setting.programs = 3 + static_cast<std::uint32_t>(random.below(3));
  setting.steerers = 1 + static_cast<std::uint32_t>(random.below(3));
  setting.bursts = one_in(2) ? up_to(0.9) : 0;
  if (one_in(2)) {
    constexpr MigrationPhase begun[] = {MigrationPhase::shadow, MigrationPhase::dual_old,
                                        MigrationPhase::dual_new, MigrationPhase::new_only};
    setting.begins = begun[random.below(std::size(begun))];
  }
  if (one_in(2)) setting.steering_crashes = up_to(0.2);
  setting.rocks = one_in(3);
  setting.hesitates = one_in(2) ? up_to(0.5) : 0;
  setting.hesitation = random.between(200ms, 3s);
  setting.backwards = one_in(3) ? 0 : up_to(0.6);
  setting.ends_finished = !one_in(3);
  // A slow store with short leases: calls take long, but few of them end too late.
  if (one_in(6)) {
    (one_in(2) ? profile : setting.new_store).most_travel =
        random.between(100ms, profile.io_timeout / 3);
  }
  if (mutant == Mutant::no_compare || (mutant == Mutant::none && one_in(8))) {
    // One goes back while another goes on and back. That has to happen before any hold is in the
    // new store only, so at the beginning.
    setting.begins = MigrationPhase::dual_new;
    setting.steerers = 3;
    setting.steering_crashes = 0;
    setting.bursts = 0.9;
    setting.rocks = true;
    setting.backwards = 0.5;
    setting.hesitates = 0.5;
    setting.hesitation = 3s;
    setting.programs = 5;
    for (Profile* const each : {&profile, &setting.new_store}) {
      each->loss = each->refusal = each->slow = each->downs = each->crashes = each->pauses = 0;
      each->most_travel = 20ms;
    }
  }
  return setting;
}

}  // namespace lockset::simulation
