// The two items of a space.
//
// The pointer, "lockset:SPACE", names the space's present life, a random text. The state is in
// "lockset:SPACE:LIFE". Neither ever gets a value by `set`: the pointer is only added, the state is
// added once and then replaced by `cas`.
//
// A server that starts begins its cas ids at 1 again. With a single key, a request that was made
// before would fit an item of afterwards by chance, and put back what was lost. No life comes
// again, so here it finds no item.
#pragma once

#include <string>

namespace lockset::memcached {

inline std::string pointer_key(const std::string& space) { return "lockset:" + space; }
inline std::string state_key(const std::string& space, const std::string& life) {
  return "lockset:" + space + ":" + life;
}

}  // namespace lockset::memcached
