// A small store in Redis: a key per name, which ends with the lease.
#pragma once

#include <memory>
#include <string>

#include "lockset/backend.h"

namespace lockset::mutants {

struct RedisSteps {
  // Right: one script, which nothing interrupts, looks at all names, draws the stamp and takes
  // them.
  enum class Take : std::uint8_t {
    script,
    // Looks first, and then takes.
    look_first,
    // Draws the stamp before the script.
    stamp_first,
    // SET NX of one name after the other; undone if one is taken.
    one_by_one,
  } take = Take::script;
  // Right: a script checks that the key is still this holder's. Otherwise by name alone.
  bool release_compares = true;
};

// For one client.
std::shared_ptr<Backend> open_redis_store(const std::string& url, const RedisSteps& steps);

}  // namespace lockset::mutants
