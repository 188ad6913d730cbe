// The kind of run that a seed makes: which faults, how often, with which promises.
#pragma once

#include <cstdint>
#include <optional>

#include "lockset/backend.h"
#include "lockset/clock.h"
#include "lockset/space_config.h"
#include "tests/simulation/flaws.h"

namespace lockset::simulation {

struct Profile {
  enum class World : std::uint8_t {
    promised,  // everything that Lockset relies on is true, so all its promises must hold
    stepped,   // the store's clock is stepped ahead by much more than the margin
    restored,  // the store loses its state, and its calendar also goes back by hours
    lost,      // the store loses its state: it is wiped, or continues from a backup
    slow,      // each message takes a large part of a lease
    demoted,   // the store is demoted, and a copy of it promoted, which some clients reach later
    quiet,     // nothing goes wrong, so waiters are overtaken no more often than is promised
  };
  World world = World::promised;
  // When the world is disturbed.
  TimePoint disturbed;
  // The time of the backup from which a store that lost its state continues; unset: it is wiped.
  std::optional<TimePoint> backup;
  Flaw flaw = Flaw::none;

  // How long a message takes without a fault. With more, the store is slow, but alive.
  Duration least_travel = std::chrono::microseconds(100);
  Duration most_travel = std::chrono::milliseconds(20);

  // Shares of messages.
  double loss = 0;
  double refusal = 0;
  double repeat = 0;
  double slow = 0;
  Duration slowest{};  // less than twice the I/O timeout: no message is later than that
  double hint_loss = 0;
  // Shares of clock readings and of requests.
  double pauses = 0;
  Duration longest_pause{};
  double crashes = 0;
  // Shares of half seconds.
  double downs = 0;
  double steps = 0;
  double walls = 0;

  // The store's clock runs at 1 + drift, and is at most `ahead` off: together less than the margin
  // of any lease in use, even of the rest of one (50 ms of 500).
  double drift = 0;
  Duration ahead{};

  std::uint32_t clients = 2;
  std::uint32_t threads = 1;  // per client
  Duration io_timeout{};
  Duration patience{};
  bool reclaim = false;  // clients 0 and 1 are one application
  bool changes_permits = false;
  bool long_leases = true;  // some, and some without end
  bool breaks = true;       // clients break each other's holds
  bool snapshots = true;    // snapshots of the store are taken
  bool forks = false;       // clients fork while they hold something
  bool observes = false;    // clients observe names, and take sets on that condition
  bool converts = false;    // clients upgrade and downgrade what they hold
  // How often each thread takes a set, how long it rests before, and how long it keeps the set from
  // one look at it to the next at most: half a lease if unset.
  int rounds = 8;
  Duration rest = std::chrono::milliseconds(800);
  std::optional<Duration> between_looks;
  std::uint32_t reads = 1;
  std::uint32_t writes = 1;
  std::uint32_t max_overtakes = default_max_overtakes;
  Traits traits;
  // When the faults end.
  TimePoint calm;
  // By then everything that was in flight or in doubt has to be tidied up.
  TimePoint settled;
};

Profile make_profile(std::uint64_t seed);
// The same in its own world, if the seed says so.
Profile make_worldly_profile(std::uint64_t seed, Flaw flaw);

}  // namespace lockset::simulation
