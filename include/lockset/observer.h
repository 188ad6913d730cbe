// Events inside Lockset, for tests, metrics and logs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "lockset/clock.h"
#include "lockset/export.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset LOCKSET_EXPORT {

struct Event {
  enum class Kind : std::uint8_t {
    granted,         // an acquire was granted; `took` since it was called
    busy,            // an attempt found the set taken; `detail` says by whom
    timed_out,       // an acquire gave up at its deadline
    changed,         // an acquire was refused on its condition; `detail` says what changed
    stale,           // an attempt was made from an old configuration, and is repeated
    retried,         // the store failed, and the attempt is repeated (at open, `items` is empty);
                     // `detail` says why
    collided,        // the store repeated the attempt inside `count` times: serialization failures,
                     // deadlocks or duplicate keys, not contention
    resolved,        // a lost reply was looked up; `stamp` is what was found, or 0
    renewed,         // the hold was renewed; `took` the round trip
    renewal_failed,  // the store could not be asked; Lockset tries again; `detail` says why
    lost,            // the hold is no longer valid; `detail` says why
    released,        // the hold was released; `took` the round trip
    release_failed,  // the store did not confirm a release; `detail` says why
    config_changed,  // the client took over a new configuration
    clock_stepped,   // the store's clock and ours drifted apart by more than the margin
  };

  Kind kind;
  Stamp stamp{};                         // 0 where there is none
  std::span<const LockRequest> items{};  // valid during the call only
  Duration took{};
  std::uint32_t count = 0;    // for collided
  std::string_view detail{};  // one line, never a secret; valid during the call only
};

std::string_view to_string(Event::Kind kind) noexcept;

// Set in Options. Calls come from any thread, also at the same time, and hold none of Lockset's
// mutexes. They delay the calling thread, so they should be short. They must not throw.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const Event& event) noexcept = 0;
};

}  // namespace LOCKSET_EXPORT
