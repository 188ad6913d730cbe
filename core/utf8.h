// Just enough UTF-8 to check names (RFC 3629: no overlong forms, no surrogates, nothing above
// U+10FFFF).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lockset {

struct Utf8Char {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;  // 0: the text does not begin with a valid character
};

// The first character of `text`. REQUIRES: text is not empty.
inline Utf8Char next_utf8(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  std::uint32_t code_point = lead & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> least{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < least[bytes] || code_point > 0x10FFFF || surrogate) return {};
  return {code_point, bytes};
}

// U+0000-001F and U+007F-009F.
inline bool is_control(std::uint32_t code_point) noexcept {
  return code_point < 0x20 || (code_point >= 0x7F && code_point <= 0x9F);
}

}  // namespace lockset
