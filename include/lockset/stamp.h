// Numbers that identify a grant. Semantics 8 and 14.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <string>

#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

// The fencing token of a grant: positive, and unique in its space for ever. If grant A returned
// before B was asked for, A < B. If two grants on a name conflict, the later one has the greater
// stamp. 0 means "not granted".
struct [[nodiscard]] Stamp {
  std::int64_t value = 0;

  explicit operator bool() const noexcept { return value > 0; }
  auto operator<=>(const Stamp&) const = default;
};

// Identifies one attempt to acquire, so that the attempt can be looked up if its reply was lost.
// Never used twice.
struct Token {
  std::array<std::uint8_t, 16> bytes{};

  // 128 bits from the operating system's generator. Thread-safe.
  static Token random();
  // 32 hexadecimal digits.
  [[nodiscard]] std::string hex() const;
  auto operator<=>(const Token&) const = default;
};

}  // namespace LOCKSET_EXPORT

template <>
struct std::hash<lockset::Stamp> {
  std::size_t operator()(lockset::Stamp stamp) const noexcept {
    return std::hash<std::int64_t>{}(stamp.value);
  }
};
