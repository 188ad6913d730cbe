#include "lockset/url.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/percent.h"
#include "lockset/lock_set.h"

namespace lockset {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

// Takes a decoded key. The name of a file is no secret: such a parameter keeps a secret out of an
// address.
bool is_secret_key(std::string_view key) {
  const std::string lower = lower_case(key);
  if (lower.ends_with("file")) return false;
  for (const char* word : {"password", "passwd", "passphrase", "pwd", "secret", "token"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return lower == "pass";
}

// Splits "a<sep>b" at the first sep; without a sep the second part is unset.
std::pair<std::string_view, std::optional<std::string_view>> split(std::string_view text,
                                                                   char sep) {
  const std::size_t at = text.find(sep);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

// For "host", "host:port" and lists of them. True if the text after the first host's colon can't be
// a port: then it is a password.
bool has_odd_port(std::string_view hosts) {
  if (hosts.starts_with('[')) hosts.remove_prefix(std::min(hosts.find(']'), hosts.size()));
  const std::string_view port = split(split(hosts, ',').first, ':').second.value_or("");
  return !std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The position of the '@' that ends the user part of `body` (an address without its scheme and
// slashes), or npos. It is the last one, and a / or a ? may come before it: nothing of a password
// may be shown, even if its special characters were not escaped.
std::size_t end_of_user_part(std::string_view body) {
  const std::size_t query = std::min(body.find('?'), body.size());
  const std::size_t at = body.substr(0, query).rfind('@');
  if (at != std::string_view::npos || query == body.size()) return at;
  const std::size_t late = body.rfind('@');
  if (late == std::string_view::npos) return late;
  // Usually it is part of a value, as in "host:5432/db?label=me@there".
  const bool in_value = body.substr(query, late - query).find('=') != std::string_view::npos;
  return in_value && !has_odd_port(body.substr(0, body.find_first_of("/?"))) ? std::string::npos
                                                                             : late;
}

// Schemes whose parameters are addresses: "migrate:?from=ADDRESS&to=ADDRESS" and
// "quorum:?of=ADDRESS&of=ADDRESS&of=ADDRESS".
bool is_address_key(std::string_view scheme, std::string_view key) {
  return scheme == "migrate" ? key == "from" || key == "to" : key == "of";
}

// A part that is no such parameter may be the rest of a password that was not escaped.
std::string address_redacted(std::string_view scheme, std::string_view key,
                             std::optional<std::string_view> value) {
  if (!value || !is_address_key(scheme, key)) return "***";
  const auto address = percent_decoded(*value);
  return std::string(key) + "=" + (address ? redact_url(*address) : "***");
}

}  // namespace

std::string redact_url(std::string_view text) {
  // It may be an address without its scheme or its slashes.
  std::string_view scheme = text.substr(0, std::min(text.find(':'), text.size()));
  if (scheme.size() == text.size() || scheme.find_first_of("/?@") != std::string_view::npos) {
    scheme = {};
  }
  std::string_view body = text.substr(scheme.empty() ? 0 : scheme.size() + 1);
  const std::size_t slashes = std::min(body.find_first_not_of('/'), body.size());
  body.remove_prefix(slashes);
  std::string result(text.substr(0, text.size() - body.size()));

  const bool names_file = slashes > 2 || (slashes < 2 && scheme == "sqlite");
  const std::size_t at = names_file ? std::string_view::npos : end_of_user_part(body);
  if (at != std::string_view::npos) {
    std::size_t secret = body.find(':') + 1;  // 0 without one
    // "user:password@host": the text before the colon only looks like a scheme.
    const bool no_scheme = slashes == 0 && !scheme.empty();
    if (secret > at) secret = 0;
    if (secret > 0 || no_scheme) {
      result += body.substr(0, secret);
      result += "***";
      body.remove_prefix(at);
    }
  }
  auto [address, query] = split(body, '?');
  result += address;
  char separator = '?';
  for (std::optional<std::string_view> left = query; left;) {
    auto [param, next] = split(*left, '&');
    auto [key, value] = split(param, '=');
    result += separator;
    const bool secret = is_secret_key(percent_decoded(key).value_or(std::string(key)));
    const std::string kind = lower_case(scheme);
    if (kind == "migrate" || kind == "quorum") {
      result += address_redacted(kind, key, value);
    } else {
      result += key;
      if (value) result += secret ? "=***" : "=" + std::string(*value);
    }
    separator = '&';
    left = next;
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
  url.scheme = lower_case(scheme);

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
    } else if (has_odd_port(authority) && rest->find('@') != std::string_view::npos) {
      return bad("write a / in a password as %2F and a ? as %3F");
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
    if (url.scheme == "quorum" && *decoded_key == "of") {
      url.nodes.push_back(*decoded_value);
    } else if (!url.params.emplace(*decoded_key, *decoded_value).second) {
      return bad("the parameter " + in_quotes(*decoded_key) + " is given twice");
    }
    left = next;
  }
  return url;
}

}  // namespace lockset
