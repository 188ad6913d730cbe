// What chance does to one run, decision by decision: how long a message takes, whether it is
// lost, when a client is stopped. Each is drawn from the seed and its own name alone, so that one
// can be left out and the others stay what they were: that is how a failure is made small.
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
  request,       // a request travels that long instead of 1 ms
  reply,         // an answer travels that long
  slow_request,  // it takes that long: perhaps longer than anybody waits
  slow_reply,
  lose_request,  // it never arrives; 1: and the connection is seen to be cut
  lose_reply,
  refuse,  // the connection can't be had: surely nothing is sent
  repeat,  // a request arrives a second time, that long after it was sent
  hint,    // a wake-up travels that long
  lose_hint,
  use,    // a message to the fenced resource travels that long
  pause,  // all of a process stands still that long, in the midst of reading the clock
  crash,  // a process dies that long after a request, and is started again
  step,   // the store's clock is set to so much ahead
  wall,   // the store's calendar is set to so much ahead
  down,   // the store restarts: for so long it answers nobody
  life,   // of a program that takes part in a migration: says how long, and how it is configured
  steer,  // a step of a migration: says which, and when
  stick,  // a client reaches the demoted store instead of the promoted one for that long
};

// Number `count` of its kind for one actor: a client, or the store.
struct Decision {
  Kind kind{};
  std::uint32_t actor = 0;
  std::uint32_t count = 0;
  std::int64_t value = 0;
};

class Schedule {
 public:
  // Draws by the seed.
  explicit Schedule(std::uint64_t seed) : seed_(seed) {}
  // Lets happen what is listed, and nothing else.
  Schedule(std::uint64_t seed, const std::vector<Decision>& listed);

  // Whether it happens this time, and the value: between `least` and `most`.
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

// A line for each: kind, actor, count, value (durations in ns): "crash 1 4 12000000".
std::string print(const std::vector<Decision>& decisions);
Result<std::vector<Decision>> parse_decisions(std::string_view text);

}  // namespace lockset::simulation
