// The texts that the space's functions return: fields separated by U+001F.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockset/backend.h"

namespace lockset::postgresql {

// An SQL array literal.
std::string array_of_names(std::span<const LockRequest> items);
std::string array_of_modes(std::span<const LockRequest> items);
std::string array_of_names(std::span<const std::string> names);
// The stamps that are expected, for each of so many items; NULL where there is no condition.
std::string array_of_expected(std::span<const Expected> expected, std::size_t items);
template <class Numbers>
std::string array_of_numbers(const Numbers& numbers) {
  std::string text = "{";
  for (const auto number : numbers) {
    if (text.size() > 1) text += ',';
    text += std::to_string(number);
  }
  return text + "}";
}

inline Mode mode_from(std::string_view letter) { return letter == "r" ? Mode::read : Mode::write; }

inline std::int64_t micros(Duration duration) {
  return std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
}
// From a number of microseconds; below 0 means for ever.
Duration duration_from(std::int64_t micros);

struct Reply {
  enum class Kind { granted, busy, stale, changed, quarantine, nothing, unknown };
  Kind kind = Kind::unknown;
  Grant grant;  // floors only if the function gave them
  Busy busy;    // without its ticket
  Changed changed;
  std::int64_t waiter = 0;  // for busy: the place in line, or 0
  Duration left{};          // for quarantine
};

Reply parse_reply(std::string_view text);

}  // namespace lockset::postgresql
