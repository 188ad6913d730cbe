// Distinguishes texts; it is not cryptographic. Stores keep its values, so it must never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace lockset {

// FNV-1a.
constexpr std::uint64_t text_hash(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}
// Test values from the algorithm's description.
static_assert(text_hash("") == 0xCBF29CE484222325 && text_hash("foobar") == 0x85944171F73967E8);

}  // namespace lockset
