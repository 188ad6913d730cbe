// Starts a store, or says why it can't be had, with the exit code that goes with it.
#pragma once

#include <memory>
#include <string>

#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// `name` as from Store::find. Throws tools::Failure(exit_store).
std::unique_ptr<Store> start_store(const std::string& name, Scenario scenario);

}  // namespace lockset::chaos
