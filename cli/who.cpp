#include "cli/who.h"

#include <pwd.h>
#include <unistd.h>

#include <array>

namespace lockset::cli {

std::string user_name() {
  const passwd* const user = ::getpwuid(::geteuid());
  return user != nullptr ? std::string(user->pw_name) : std::to_string(::geteuid());
}

std::string host_name() {
  constexpr std::size_t longest_host = 256;
  std::array<char, longest_host> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return host.data();
}

}  // namespace lockset::cli
