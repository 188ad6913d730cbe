// Starts a store, or says why that fails, with the matching exit code.
#pragma once

#include <memory>
#include <string>

#include "tests/chaos/stores/store.h"

namespace lockset::chaos {

// `name` as returned by Store::find. Throws tools::Failure(exit_store).
std::unique_ptr<Store> start_store(const std::string& name, Scenario scenario);

}  // namespace lockset::chaos
