// The random events of one run, decision by decision: how long a message takes, whether it is lost,
// when a client is stopped. Each is drawn only from the seed and its own name, so one can be left
// out without changing the others: that is how a failing run is made small.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::simulation {

enum class Kind : std::uint8_t {
  round,         // a client's round of work; the value decides what it does
  request,       // a request takes that long instead of 1 ms
  reply,         // an answer takes that long
  slow_request,  // it takes that long: perhaps longer than anybody waits
  slow_reply,
  lose_request,  // it never arrives; 1: and the end of the connection is noticed
  lose_reply,
  refuse,  // the connection can't be opened: certainly nothing is sent
  repeat,  // a request arrives a second time, that long after it was sent
  hint,    // a wake-up takes that long
  lose_hint,
  use,    // a message to the fenced resource takes that long
  pause,  // a whole process stops for that long, while it reads the clock
  crash,  // a process dies that long after a request, and is started again
  step,   // the store's clock is set this far ahead
  wall,   // the store's calendar is set this far ahead
  down,   // the store restarts: it answers nobody for this long
  life,   // the length and the configuration of a program's life in a migration
  steer,  // a step of a migration: which one, and when
  stick,  // a client reaches the demoted store instead of the promoted one for that long
};

// The `count`-th decision of its kind for one actor: a client, or the store.
struct Decision {
  Kind kind{};
  std::uint32_t actor = 0;
  std::uint32_t count = 0;
  std::int64_t value = 0;
};

class Schedule {
 public:
  // Draws from the seed.
  explicit Schedule(std::uint64_t seed) : seed_(seed) {}
  // Makes exactly the listed events happen.
  Schedule(std::uint64_t seed, const std::vector<Decision>& listed);

  // Whether it happens this time, and its value: between `least` and `most`.
  std::optional<std::int64_t> draw(Kind kind, std::uint32_t actor, double share, std::int64_t least,
                                   std::int64_t most);

  // What happened so far, in order.
  [[nodiscard]] const std::vector<Decision>& taken() const noexcept { return taken_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }

 private:
  const std::uint64_t seed_;
  bool replay_ = false;
  std::map<std::uint64_t, std::int64_t> listed_;
  std::vector<std::uint32_t> counts_;
  std::vector<Decision> taken_;
};

// One line each: kind, actor, count, value (durations in ns): "crash 1 4 12000000".
std::string print(const std::vector<Decision>& decisions);
Result<std::vector<Decision>> parse_decisions(std::string_view text);

}  // namespace lockset::simulation
