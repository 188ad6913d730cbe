#include "tests/conformance/availability.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string_view>

namespace lockset::conformance {

namespace {

bool required_by_environment(std::string_view name) {
  const char* text = std::getenv("LOCKSET_TEST_REQUIRE");
  std::string_view list = text == nullptr ? "" : text;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    if (one == name || one == "all") return true;
    list.remove_prefix(std::min(list.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

const Availability& availability(Harness& harness) {
  static std::map<Harness*, Availability> known;
  const auto [entry, is_new] = known.try_emplace(&harness);
  if (is_new) {
    entry->second = {harness.unavailable(),
                     harness.always_available() || required_by_environment(harness.name())};
  }
  return entry->second;
}

}  // namespace lockset::conformance
