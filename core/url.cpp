#include "lockset/url.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "lockset/lock_set.h"

namespace lockset {
namespace {

std::optional<std::string> percent_decoded(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
  };
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1]) < 0 || digit(text[i + 2]) < 0) return {};
    result += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
    i += 2;
  }
  return result;
}

bool is_secret_key(std::string_view key) {
  std::string lower(key);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* word : {"password", "passwd", "secret", "token"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

// Splits "a<sep>b" at the first sep; the second part is unset without one.
std::pair<std::string_view, std::optional<std::string_view>> split(std::string_view text,
                                                                   char sep) {
  const std::size_t at = text.find(sep);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

std::string redact_url(std::string_view text) {
  auto [address, query] = split(text, '?');
  std::string result(address);
  if (const std::size_t slashes = result.find("//"); slashes != std::string::npos) {
    // The last @: an unescaped one inside a password must not show its tail.
    const std::size_t at = result.rfind('@');
    const std::size_t colon = result.find(':', slashes);
    if (at != std::string::npos && colon != std::string::npos && colon < at) {
      result.replace(colon + 1, at - colon - 1, "***");
    }
  }
  if (!query) return result;
  char separator = '?';
  for (std::optional<std::string_view> rest = query; rest;) {
    auto [param, next] = split(*rest, '&');
    auto [key, value] = split(param, '=');
    result += separator;
    result += key;
    if (value) result += is_secret_key(key) ? "=***" : "=" + std::string(*value);
    separator = '&';
    rest = next;
  }
  return result;
}

std::string Url::redacted() const { return redact_url(text); }

Result<Url> Url::parse(std::string_view text) {
  const auto bad = [&](const std::string& why) {
    return Error{Errc::invalid, "bad store address " + in_quotes(redact_url(text)) + ": " + why};
  };
  Url url;
  url.text = text;
  auto [scheme, rest] = split(text, ':');
  const bool plain =
      !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '+' || c == '-' || c == '.';
      });
  if (!rest || !plain) return bad("it must begin with a scheme, as in sqlite:/path/to/file");
  url.scheme = scheme;
  std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });

  auto [address, query] = split(*rest, '?');
  if (address.starts_with("//")) {
    url.has_authority = true;
    address.remove_prefix(2);
    const std::size_t slash = address.find('/');
    std::string_view authority = address.substr(0, slash);
    address = slash == std::string_view::npos ? std::string_view{} : address.substr(slash);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos) {
      auto [user, password] = split(authority.substr(0, at), ':');
      const auto decoded_user = percent_decoded(user);
      const auto decoded_password = percent_decoded(password.value_or(""));
      if (!decoded_user || !decoded_password) return bad("a % in the user part begins no %XX code");
      url.user = *decoded_user;
      url.password = *decoded_password;
      authority.remove_prefix(at + 1);
    }
    url.hosts = authority;
  }
  const auto path = percent_decoded(address);
  if (!path) return bad("a % in the path begins no %XX code");
  url.path = *path;

  for (std::optional<std::string_view> left = query; left && !left->empty();) {
    auto [param, next] = split(*left, '&');
    auto [key, value] = split(param, '=');
    const auto decoded_key = percent_decoded(key);
    const auto decoded_value = percent_decoded(value.value_or(""));
    if (!decoded_key || !decoded_value) return bad("a % in the parameters begins no %XX code");
    if (!value || decoded_key->empty()) return bad("parameters are written key=value");
    if (!url.params.emplace(*decoded_key, *decoded_value).second) {
      return bad("the parameter " + in_quotes(*decoded_key) + " is given twice");
    }
    left = next;
  }
  return url;
}

}  // namespace lockset
