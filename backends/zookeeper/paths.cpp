#include "backends/zookeeper/paths.h"

#include <algorithm>
#include <charconv>

namespace lockset::zookeeper {
namespace {

constexpr std::string_view digits = "0123456789ABCDEF";
constexpr std::size_t generation_digits = 16;
constexpr std::string_view note_prefix = "observed-";

bool stands_for_itself(unsigned char c) { return c > ' ' && c < 0x7F && c != '/' && c != '%'; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string part;
  part.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // A node can't be named "." or "..".
    if (stands_for_itself(byte) && !(c == '.' && part.empty())) {
      part += c;
    } else {
      part += '%';
      part += digits[byte >> 4U];
      part += digits[byte & 15U];
    }
  }
  return part;
}

std::optional<std::string> unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      text += part[i];
      continue;
    }
    if (i + 2 >= part.size()) return {};
    const std::size_t high = digits.find(part[i + 1]);
    const std::size_t low = digits.find(part[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    text += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (escaped(text) != part) return {};
  return text;
}

bool is_valid_path(std::string_view path) {
  if (!path.starts_with('/')) return false;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (!std::all_of(part.begin(), part.end(),
                     [](unsigned char c) { return c >= ' ' && c < 0x7F; })) {
      return false;
    }
    path.remove_prefix(end);
  }
  return true;
}

std::string holder_part(Mode mode, std::string_view token) {
  return (mode == Mode::write ? "w-" : "r-") + std::string(token);
}

std::optional<Holder> holder_of(std::string_view part) {
  if (part.size() < 3 || (part[0] != 'w' && part[0] != 'r') || part[1] != '-') return {};
  return Holder{part[0] == 'w' ? Mode::write : Mode::read, std::string(part.substr(2))};
}

std::string below(std::string_view above, std::string_view part) {
  std::string path(above);
  path += '/';
  path += part;
  return path;
}

std::string note_part(std::int64_t ms) { return std::string(note_prefix) + std::to_string(ms); }

std::optional<std::int64_t> noted_ms(std::string_view part) {
  if (!part.starts_with(note_prefix)) return {};
  part.remove_prefix(note_prefix.size());
  std::int64_t ms = 0;
  const auto [end, failed] = std::from_chars(part.data(), part.data() + part.size(), ms);
  if (failed != std::errc() || end != part.data() + part.size()) return {};
  return ms;
}

std::string new_generation() { return Token::random().hex().substr(0, generation_digits); }

bool is_generation(std::string_view part) {
  return part.size() == generation_digits &&
         part.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace lockset::zookeeper
