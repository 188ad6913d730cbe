// Reasons in the form in which they are counted: two that differ only in numbers count as the same.
#pragma once

#include <string>
#include <string_view>

namespace lockset::chaos {

inline std::string without_numbers(std::string_view text) {
  std::string result;
  for (const char each : text) {
    const bool digit = each >= '0' && each <= '9';
    if (!digit) {
      result += each;
    } else if (result.empty() || result.back() != '#') {
      result += '#';
    }
  }
  return result;
}

}  // namespace lockset::chaos
