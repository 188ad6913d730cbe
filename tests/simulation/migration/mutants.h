// Wrong ways to use a store, each a decorator for one client's way to it.
#pragma once

#include <functional>
#include <memory>

#include "lockset/backend.h"
#include "tests/simulation/migration/setting.h"

namespace lockset::simulation {

// The old (new) store as the mutant's clients use it; for all others `store` itself.
std::unique_ptr<Backend> old_store_of(Mutant mutant, std::unique_ptr<Backend> store);
std::unique_ptr<Backend> new_store_of(Mutant mutant, std::unique_ptr<Backend> store);
// As clients of one store alone use it.
std::unique_ptr<Backend> lone_store_of(Mutant mutant, std::unique_ptr<Backend> store);

// A space that does not exist as long as `there` returns false: nothing can be taken in it.
std::unique_ptr<Backend> only_while(std::function<bool()> there, std::unique_ptr<Backend> store);

}  // namespace lockset::simulation
