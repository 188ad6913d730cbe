// A small store in Redis: a key for each name, which ends with the lease.
#pragma once

#include <memory>
#include <string>

#include "lockset/backend.h"

namespace lockset::mutants {

struct RedisSteps {
  // Right: one script, which nothing comes between, looks at all names, draws the stamp and
  // takes them.
  enum class Take : std::uint8_t {
    script,
    // Looks first, and takes then.
    look_first,
    // Draws the stamp before the script.
    stamp_first,
    // SET NX of one name after the other, and back again where one is taken.
    one_by_one,
  } take = Take::script;
  // Right: by a script that looks whether the key still is this holder's. Else by name alone.
  bool release_compares = true;
};

// One client's.
std::shared_ptr<Backend> open_redis_store(const std::string& url, const RedisSteps& steps);

}  // namespace lockset::mutants
