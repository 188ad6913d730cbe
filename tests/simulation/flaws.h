// What is done wrong on purpose in a run, so that it is known that it would show.
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
  // The store's.
  counted_versions,  // the configuration's versions are counted, and come again after a restore
  counted_stamps,    // so are the stamps
  demoted_grants,    // it goes on granting when another one was promoted in its place
  // The clients'.
  newer_config_only,  // one takes no configuration over that is older than its own
  own_renewals,       // one takes no denial of a renewal, and believes that it has what it had
  from_the_answer,    // one counts its validity from the answer, not from the request
  unguarded_fork,     // a forked child takes its parent's locks for its own
};

// "counted-versions". Flaw::none for a name that is none.
Flaw flaw_of(std::string_view name);
// The promises that it breaks.
std::set<std::string> broken_by(Flaw flaw);

// A client's way to the store, with what this flaw does to it.
std::unique_ptr<Backend> with_flaw(Flaw flaw, std::unique_ptr<Backend> store);

}  // namespace lockset::simulation
