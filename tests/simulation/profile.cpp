#include "tests/simulation/profile.h"

#include <algorithm>
#include <iterator>

#include "core/random.h"

namespace lockset::simulation {

using namespace std::chrono_literals;

namespace {

// Leaves out all that may legally delay a waiter that was woken, and what keeps others away from
// the names for long.
void silence(Profile& profile) {
  profile.loss = profile.refusal = profile.repeat = profile.slow = profile.hint_loss = 0;
  profile.pauses = profile.crashes = profile.downs = profile.steps = profile.walls = 0;
  profile.drift = 0;
  profile.reclaim = profile.changes_permits = profile.long_leases = profile.forks = false;
  // A crowd, so that waiters are overtaken at all.
  profile.clients = 4;
  profile.threads = 2;
  profile.rounds = 30;
  profile.between_looks = profile.rest = 30ms;
  profile.traits.push_wakeup = true;
  profile.traits.bounded_overtaking = true;
}

}  // namespace

Profile make_worldly_profile(std::uint64_t seed, Flaw flaw) {
  Profile profile = make_profile(seed);
  profile.flaw = flaw;
  Random random(seed ^ 0x2BD1D6B5A1C7E3F9);
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  const TimePoint start(1h);
  const Duration troubled = profile.calm - start;
  profile.disturbed = start + troubled / 2;
  profile.forks = one_in(5);
  profile.traits.observing = true;
  profile.observes = Random(seed ^ 0x6A09E667F3BCC908).below(2) == 0;
  profile.traits.converting = true;
  profile.converts = Random(seed ^ 0x3C6EF372FE94F82B).below(2) == 0;

  const std::uint64_t world = random.below(12);
  if (profile.world == Profile::World::promised) {
    if (world < 2) profile.world = Profile::World::lost;
    if (world == 2) profile.world = Profile::World::slow;
    if (world == 3) profile.world = Profile::World::demoted;
    if (world == 4) profile.world = Profile::World::quiet;
  }
  switch (profile.world) {
    case Profile::World::promised:
    case Profile::World::stepped:
      break;
    case Profile::World::restored:
    case Profile::World::lost:
      profile.disturbed = start + random.between(troubled / 4, troubled * 3 / 4);
      if (!one_in(3)) {
        profile.backup = profile.disturbed - random.between(10ms, (profile.disturbed - start) / 2);
      }
      // Stamps go up only if the calendar does: it is all that is left after they were lost.
      profile.walls = 0;
      // Restored and undone changes show whether clients obey the configuration in force.
      if (one_in(2)) profile.changes_permits = true;
      break;
    case Profile::World::slow:
      // A round trip takes up to a whole lease of the shortest ones.
      profile.most_travel = random.between(150ms, 600ms);
      profile.least_travel = profile.most_travel / 3;
      break;
    case Profile::World::demoted:
      break;
    case Profile::World::quiet:
      silence(profile);
      break;
  }
  return profile;
}

Profile make_profile(std::uint64_t seed) {
  Random random(seed ^ 0x5DEECE66D);
  const auto one_in = [&](std::uint64_t n) { return random.below(n) == 0; };
  const auto up_to = [&](double most) {
    return most * static_cast<double>(random.below(1001)) / 1000;
  };
  Profile profile;
  const std::uint64_t world = random.below(20);
  if (world == 0) profile.world = Profile::World::stepped;
  if (world == 1) profile.world = Profile::World::restored;

  profile.io_timeout = one_in(4) ? 3s : 1s;
  profile.patience = random.between(500ms, 6s);
  // Many runs have no trouble of one kind: it would hide others.
  if (!one_in(3)) profile.loss = up_to(0.2);
  if (!one_in(2)) profile.refusal = up_to(0.1);
  if (!one_in(2)) profile.repeat = up_to(0.15);
  if (!one_in(3)) profile.slow = up_to(0.2);
  profile.slowest = profile.io_timeout * 19 / 10;
  if (!one_in(2)) profile.hint_loss = up_to(0.5);
  if (!one_in(2)) profile.pauses = up_to(0.01);
  profile.longest_pause = random.between(100ms, 5s);
  if (one_in(2)) profile.crashes = up_to(0.02);
  if (one_in(3)) profile.downs = up_to(0.1);
  if (one_in(2)) profile.walls = up_to(0.2);
  if (one_in(2)) {
    profile.drift = up_to(0.06) - 0.03;
    profile.steps = up_to(0.3);
    profile.ahead = 35ms;
  }

  profile.clients = 2 + static_cast<std::uint32_t>(random.below(3));
  profile.threads = 1 + static_cast<std::uint32_t>(random.below(2));
  profile.reclaim = one_in(5);
  profile.changes_permits = one_in(3);
  profile.reads = 1 + static_cast<std::uint32_t>(random.below(3));
  profile.writes = one_in(3) ? 2 : 1;
  profile.traits.push_wakeup = !one_in(3);
  profile.traits.permanent_leases = true;
  profile.traits.holds_outlive_process = true;
  profile.traits.shared_between_processes = true;
  profile.traits.floors = true;
  profile.traits.renew_chunk = one_in(3) ? 1 : 1000;

  profile.calm = TimePoint(1h) + random.between(6s, 15s);
  const Duration in_flight = std::max(2 * profile.io_timeout, profile.longest_pause);
  // Two attempts to tidy up are at most 5 s apart.
  profile.settled = profile.calm + in_flight + 7s;
  constexpr std::uint32_t bounds[] = {0, 1, 3, default_max_overtakes, unlimited_overtakes};
  profile.max_overtakes = bounds[random.below(std::size(bounds))];
  return profile;
}

}  // namespace lockset::simulation
