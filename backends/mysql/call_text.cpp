#include "backends/mysql/call_text.h"

namespace lockset::mysql {

std::string hex_literal(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "x'";
  text.reserve(3 + 2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  text += '\'';
  return text;
}

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  result += '"';
  return result;
}

std::string packed_names(const LockSet& set) {
  std::string bytes;
  for (const LockRequest& item : set.items()) {
    bytes += static_cast<char>(item.name.size());  // at most 255
    bytes += item.name;
  }
  return bytes;
}

std::string_view bytes_of(const Token& token) {
  return {reinterpret_cast<const char*>(token.bytes.data()), token.bytes.size()};
}

std::string_view label_of(const Owner& owner) {
  std::size_t most = 1024;  // as the column
  const std::string_view text = owner.label;
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace lockset::mysql
