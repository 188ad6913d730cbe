#include "tests/conformance/availability.h"

#include <map>

#include "tests/support/requirement.h"

namespace lockset::conformance {

const Availability& availability(Harness& harness) {
  static std::map<Harness*, Availability> known;
  const auto [entry, is_new] = known.try_emplace(&harness);
  if (is_new) {
    entry->second = {harness.unavailable(),
                     harness.always_available() || test::required(harness.name())};
  }
  return entry->second;
}

}  // namespace lockset::conformance
