#include "tests/chaos/start_store.h"

#include <stdexcept>

#include "tools/failure.h"

namespace lockset::chaos {

std::unique_ptr<Store> start_store(const std::string& name, Scenario scenario) {
  const StoreOptions how{.scenario = scenario};
  if (const auto why = Store::unavailable(name, how)) {
    throw tools::Failure(tools::exit_store, name + " can't run here: " + *why);
  }
  try {
    return Store::start(name, how);
  } catch (const std::runtime_error& error) {
    throw tools::Failure(tools::exit_store, name + " does not start: " + error.what());
  }
}

}  // namespace lockset::chaos
