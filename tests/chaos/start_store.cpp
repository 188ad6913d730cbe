#include "tests/chaos/start_store.h"

#include <stdexcept>

#include "cli/failure.h"

namespace lockset::chaos {

std::unique_ptr<Store> start_store(const std::string& name, Scenario scenario) {
  const StoreOptions how{.scenario = scenario};
  if (const auto why = Store::unavailable(name, how)) {
    throw cli::Failure(cli::exit_store, name + " can't run here: " + *why);
  }
  try {
    return Store::start(name, how);
  } catch (const std::runtime_error& error) {
    throw cli::Failure(cli::exit_store, name + " does not start: " + error.what());
  }
}

}  // namespace lockset::chaos
