// When a call is made again: one rule for all stores.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "backends/answers.h"
#include "core/machine.h"

namespace lockset::connections {

// What became of one attempt of a call.
enum class Attempt {
  last,      // answered, or refused
  broken,    // the connection is of no use any more
  collided,  // rolled back for others' sake; the same may do better now
};

// How often a read is asked for, over connections that break or can't be had. To read again does no
// harm, so the program need not learn of them.
inline constexpr int most_reads = 3;

// Sleeps before a call that has collided `collisions` times is made again: the first two times not
// at all, then for up to 2, 4, 8 ... 64 ms. Full jitter: those who collided come back apart. False,
// without having slept, if `by` would come first.
inline bool pause_after(std::uint32_t collisions, TimePoint by) {
  const std::chrono::milliseconds most(collisions > 2 ? 1 << std::min(collisions - 2, 6U) : 0);
  const Duration pause = thread_random().between(Duration::zero(), most);
  if (BootClock::now() + pause >= by) return false;
  std::this_thread::sleep_for(pause);
  return true;
}

// Makes a call: `ask(*lease, attempt)` over a lease of `take()`, a Result with `broken()`. An error
// is the call's unless `attempt` says that the call can be made again, and there is time. Reads are
// made again over another connection, most_reads in all; what collided is made again until `by`,
// and keeps no connection while it pauses.
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

}  // namespace lockset::connections
