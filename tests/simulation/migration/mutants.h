// Wrong ways to use a store, each a decorator of one client's way to it.
#pragma once

#include <functional>
#include <memory>

#include "lockset/backend.h"
#include "tests/simulation/migration/setting.h"

namespace lockset::simulation {

// The old (new) store as the mutant's clients use it: `store` itself for all others.
std::unique_ptr<Backend> old_store_of(Mutant mutant, std::unique_ptr<Backend> store);
std::unique_ptr<Backend> new_store_of(Mutant mutant, std::unique_ptr<Backend> store);
// As clients of one store alone use it.
std::unique_ptr<Backend> lone_store_of(Mutant mutant, std::unique_ptr<Backend> store);

// A space that nobody has made as long as `there` says no: nothing can be taken in it.
std::unique_ptr<Backend> only_while(std::function<bool()> there, std::unique_ptr<Backend> store);

}  // namespace lockset::simulation
