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
  // In the clients.
  newer_config_only,  // one never takes over a configuration that is older than its own
  own_renewals,       // one ignores denied renewals, and believes that it still holds
  from_the_answer,    // one counts its validity from the answer, not from the request
  unguarded_fork,     // a forked child takes its parent's locks for its own
  first_condition,    // one names the condition of an acquire in its first attempt only
};

// From a name such as "counted-versions". Flaw::none for an unknown name.
Flaw flaw_of(std::string_view name);
// The promises that this flaw breaks.
std::set<std::string> broken_by(Flaw flaw);

// A client's way to the store, with the effect of this flaw.
std::unique_ptr<Backend> with_flaw(Flaw flaw, std::unique_ptr<Backend> store);

}  // namespace lockset::simulation
