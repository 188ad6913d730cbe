// Deliberate mistakes, which prove that the simulation would show them.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "lockset/backend.h"

namespace lockset::simulation {

enum class Flaw : std::uint8_t {
  none,
  // In the store.
  counted_versions,   // versions of the configuration are counted, and come again after a restore
  counted_stamps,     // stamps are counted, and come again too
  demoted_grants,     // it continues to grant after another one was promoted in its place
  forgotten_waiters,  // a waiter that comes again has lost its place in the line
  unbounded_overtaking,  // nobody counts how often a waiter is overtaken
  one_overtake_more,     // one more grant than promised comes before a waiter
  unmarked_writes,       // a set leaves a trace of its first write only
  late_traces,           // a write shows only some time after its grant
  unordered_traces,      // a trace is made without regard to writes that are under way
  unsaid_writers,        // an observation does not say that a name is being written
  early_sweep,           // what was observed is soon forgotten
  demoted_observes,      // it continues to answer observations after another one was promoted
  kept_replaced,         // a conversion leaves the hold that it replaces
  ended_though_refused,  // a conversion that is refused ends the hold, too
  kept_stamps,           // a converted hold has its old stamp
  gone_is_granted,       // a conversion of what has ended is granted as an ordinary acquire
  overlooked_renewals,   // a conversion does not wait for a renewal that is under way
  unfair_upgrades,       // an upgrade does not count as one that overtakes
  unmarked_upgrades,     // an upgrade leaves no trace of its writes
  // In the clients.
  newer_config_only,  // one never takes over a configuration that is older than its own
  own_renewals,       // one ignores denied renewals, and believes that it still holds
  from_the_answer,    // one counts its validity from the answer, not from the request
  unguarded_fork,     // a forked child takes its parent's locks for its own
  two_steps,          // one converts by a release and an acquire
  first_condition,    // one names the condition of an acquire in its first attempt only
};

// From a name such as "counted-versions". Flaw::none for an unknown name.
Flaw flaw_of(std::string_view name);
// The promises that this flaw breaks.
std::set<std::string> broken_by(Flaw flaw);

// A client's way to the store, with the effect of this flaw.
std::unique_ptr<Backend> with_flaw(Flaw flaw, std::unique_ptr<Backend> store);

}  // namespace lockset::simulation
