// The names that all workers of a run compete for: few, so that they meet; one for each kind of
// permits, if there are enough.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/space_config.h"

namespace lockset::chaos {

struct HotName {
  std::string name;
  Permits permits;       // at the beginning
  bool changes = false;  // the observer changes them during the run
};

// Whether the permits of this name change during the run.
inline bool permits_change(std::string_view name) { return name.starts_with("changing"); }

// `counted`: Traits::counted_permits.
inline std::vector<HotName> hot_names(std::size_t count, bool counted) {
  static const HotName kinds[] = {
      {"one", {.read = 1, .write = 1}, false},
      {"few readers", {.read = 3, .write = 1}, false},
      {"changing", {.read = 1, .write = 1}, true},
      {"pairs", {.read = 2, .write = 2}, false},
  };
  std::vector<HotName> names;
  for (std::size_t i = 0; i < count; ++i) {
    HotName name = kinds[i % std::size(kinds)];
    // A new name that needs care: with a blank, and not just ASCII.
    if (i >= std::size(kinds)) name.name += " \xC3\xA9" + std::to_string(i / std::size(kinds));
    if (!counted) {
      if (name.permits.read > 1) name.permits.read = max_permits;
      name.permits.write = 1;
    }
    names.push_back(std::move(name));
  }
  return names;
}

// The names that keepers compete for: fewer than there are keepers.
inline std::vector<HotName> kept_names() { return {{"kept 1", {}, false}, {"kept 2", {}, false}}; }

}  // namespace lockset::chaos
