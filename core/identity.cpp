#include "core/identity.h"

#include <errno.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

#include "core/utf8.h"
#include "lockset/lock_set.h"

namespace lockset {
namespace {

constexpr std::size_t max_app_bytes = 200;  // fits behind "@app:" in a name
constexpr std::size_t max_label_bytes = 500;

std::string user_name() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) {
    return found->pw_name;
  }
  return std::to_string(geteuid());
}

std::string host_name() {
  std::array<char, 256> buffer{};
  if (gethostname(buffer.data(), buffer.size() - 1) != 0) return "unknown-host";
  return buffer.data();
}

}  // namespace

std::string default_app() {
  return clean_label(user_name() + "@" + host_name()).substr(0, max_app_bytes);
}

std::string default_label() {
  return user_name() + "@" + host_name() + ":" + std::to_string(getpid()) + " " +
         program_invocation_short_name;
}

Status check_app(std::string_view app) {
  if (app.size() > max_app_bytes) {
    return Error{Errc::invalid, "the application id has " + std::to_string(app.size()) +
                                    " bytes; at most " + std::to_string(max_app_bytes) +
                                    " are allowed"};
  }
  if (Status status = check_name(app); !status) {
    return Error{Errc::invalid, "bad application id: " + status.error().message};
  }
  return {};
}

std::string clean_label(std::string_view label) {
  std::string result;
  while (!label.empty()) {
    const Utf8Char next = next_utf8(label);
    const bool good = next.bytes > 0 && !is_control(next.code_point);
    const std::size_t bytes = next.bytes > 0 ? next.bytes : 1;
    if (result.size() + bytes > max_label_bytes) break;
    result += good ? label.substr(0, bytes) : std::string_view("?");
    label.remove_prefix(bytes);
  }
  return result;
}

}  // namespace lockset
