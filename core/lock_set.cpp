#include "lockset/lock_set.h"

#include <algorithm>

#include "core/utf8.h"

namespace lockset {

std::string_view to_string(Mode mode) noexcept { return mode == Mode::read ? "read" : "write"; }

Status check_name(std::string_view name) {
  if (name.empty()) return Error{Errc::invalid, "a lock name may not be empty"};
  if (name.size() > max_name_bytes) {
    return Error{Errc::invalid, "the lock name " + in_quotes(name.substr(0, 32)) + "... has " +
                                    std::to_string(name.size()) + " bytes; at most " +
                                    std::to_string(max_name_bytes) + " are allowed"};
  }
  for (std::size_t at = 0; at < name.size();) {
    const Utf8Char next = next_utf8(name.substr(at));
    if (next.bytes == 0 || is_control(next.code_point)) {
      return Error{Errc::invalid, (next.bytes == 0 ? "invalid UTF-8" : "control character") +
                                      std::string(" in the lock name ") + in_quotes(name) +
                                      " at byte " + std::to_string(at + 1)};
    }
    at += next.bytes;
  }
  return {};
}

bool is_reserved_name(std::string_view name) noexcept {
  return name == "*" || name.starts_with('@');
}

std::string in_quotes(std::string_view name) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text = "\"";
  while (!name.empty()) {
    const Utf8Char next = next_utf8(name);
    const bool showable = next.bytes > 0 && !is_control(next.code_point);
    const std::size_t bytes = next.bytes > 0 ? next.bytes : 1;
    for (const char c : name.substr(0, bytes)) {
      if (showable) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      } else {
        const auto byte = static_cast<unsigned char>(c);
        text += "\\x";
        text += digits[byte >> 4];
        text += digits[byte & 15];
      }
    }
    name.remove_prefix(bytes);
  }
  return text += '"';
}

Result<LockSet> LockSet::make(std::vector<LockRequest> wanted, Names names) {
  if (wanted.empty()) return Error{Errc::invalid, "an empty lock set: name at least one lock"};
  for (const LockRequest& request : wanted) {
    if (Status status = check_name(request.name); !status) return std::move(status).error();
    if (names == Names::ordinary && is_reserved_name(request.name)) {
      return Error{Errc::invalid,
                   "the lock name " + in_quotes(request.name) +
                       " is reserved: names may not begin with @, and * means the default permits"};
    }
  }
  // std::string compares as unsigned bytes (char_traits<char>), whatever the locale.
  if (wanted.size() > 1) std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (std::size_t i = 1; i < wanted.size(); ++i) {
    if (wanted[i].name == wanted[i - 1].name) {
      return Error{Errc::invalid,
                   in_quotes(wanted[i].name) +
                       " is asked for as read and as write in one set; name it once"};
    }
  }
  if (wanted.size() > max_set_size) {
    return Error{Errc::invalid, "a lock set of " + std::to_string(wanted.size()) +
                                    " names; at most " + std::to_string(max_set_size) +
                                    " are allowed"};
  }
  return LockSet(std::move(wanted));
}

}  // namespace lockset
