// Backends with one mistake each, in addition to tests/conformance/broken/flaws.h: mistakes that
// show only in what several clients see together.
#pragma once

#include <memory>

#include "lockset/backend.h"

namespace lockset::mutants {

// Draws the stamp first and then takes the names: exclusion is right, fencing is not.
std::shared_ptr<Backend> stamp_before_the_lock(std::shared_ptr<Backend> sound);
// A release ends any hold on the names that this client once held.
std::shared_ptr<Backend> release_by_name(std::shared_ptr<Backend> sound);
// Sometimes reports a successful renewal without asking.
std::shared_ptr<Backend> renewal_without_asking(std::shared_ptr<Backend> sound);
// Sometimes answers "busy" without looking.
std::shared_ptr<Backend> busy_without_reason(std::shared_ptr<Backend> sound);
// Names an ended hold as the one in the way.
std::shared_ptr<Backend> witness_of_before(std::shared_ptr<Backend> sound);
// A waiter that is told nothing continues to sleep after the moment at which it should look again.
std::shared_ptr<Backend> waiter_sleeps_on(std::shared_ptr<Backend> sound);

}  // namespace lockset::mutants
