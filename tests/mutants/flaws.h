// Backends with one mistake each, beside those of tests/conformance/broken/flaws.h: mistakes
// that show only in what several clients see together.
#pragma once

#include <memory>

#include "lockset/backend.h"

namespace lockset::mutants {

// Draws the stamp first and takes the names then: exclusion is right, fencing is not.
std::shared_ptr<Backend> stamp_before_the_lock(std::shared_ptr<Backend> sound);
// Who releases ends whatever is held of the names that he once held.
std::shared_ptr<Backend> release_by_name(std::shared_ptr<Backend> sound);
// Says now and then that a renewal went well, without asking.
std::shared_ptr<Backend> renewal_without_asking(std::shared_ptr<Backend> sound);
// Says "busy" now and then, without looking.
std::shared_ptr<Backend> busy_without_reason(std::shared_ptr<Backend> sound);
// Names a hold that has ended as the one in the way.
std::shared_ptr<Backend> witness_of_before(std::shared_ptr<Backend> sound);
// A waiter that is told nothing sleeps on, past the moment at which it should look again.
std::shared_ptr<Backend> waiter_sleeps_on(std::shared_ptr<Backend> sound);

}  // namespace lockset::mutants
