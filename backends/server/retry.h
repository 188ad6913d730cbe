// When a call is repeated: one rule for all stores.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "backends/answers.h"
#include "core/machine.h"

namespace lockset::server {

// The outcome of one attempt of a call.
enum class Attempt {
  last,      // answered, or refused
  broken,    // the connection is useless now
  collided,  // rolled back in favour of another call; may succeed if repeated
};

// How often a read is tried if its connections break or can't be opened. Reading again is harmless,
// so the program need not learn of these failures.
inline constexpr int most_reads = 3;

// Sleeps before a call that has collided `collisions` times is repeated: not at all the first two
// times, then for up to 2, 4, 8 ... 64 ms. Full jitter: calls that collided come back at different
// times. False, without sleeping, if `by` would come first.
inline bool pause_after(std::uint32_t collisions, TimePoint by) {
  const std::chrono::milliseconds most(collisions > 2 ? 1 << std::min(collisions - 2, 6U) : 0);
  const Duration pause = thread_random().between(Duration::zero(), most);
  if (BootClock::now() + pause >= by) return false;
  std::this_thread::sleep_for(pause);
  return true;
}

// Makes a call: `ask(*lease, attempt)`, where `take()` returns a Result with the lease, which has
// `broken()`. An error is final unless `attempt` allows a repetition and there is time. Broken
// reads are repeated over another connection, most_reads in all. Collided calls are repeated until
// `by`, and keep no connection while they pause.
template <class Take, class Ask>
auto call_with_retries(Sent sent, TimePoint by, Take take, Ask ask) {
  using Answer = decltype(ask(*std::declval<decltype(take())&>(), std::declval<Attempt&>()));
  int reads_left = sent == Sent::reading ? most_reads : 1;
  for (std::uint32_t collisions = 0;;) {
    Attempt attempt = Attempt::last;
    Answer answer = [&]() -> Answer {
      auto lease = take();
      if (!lease) {
        if (lease.error().retryable()) attempt = Attempt::broken;
        return lease.error();
      }
      Answer one = ask(*lease, attempt);
      if (attempt == Attempt::broken) lease->broken();
      return one;
    }();
    if (attempt == Attempt::last) return answer;
    const bool again = attempt == Attempt::broken ? --reads_left > 0 && BootClock::now() < by
                                                  : pause_after(++collisions, by);
    if (!again) return answer;
  }
}

}  // namespace lockset::server
