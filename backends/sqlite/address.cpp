#include "backends/sqlite/address.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>

#include "backends/parameters.h"
#include "lockset/lock_set.h"

namespace lockset::sqlite {
namespace {

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return home;
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr && found->pw_dir != nullptr ? found->pw_dir : "";
}

// The place that the XDG base directory specification gives to state that survives restarts.
Result<std::string> default_path() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && state[0] == '/') return std::string(state) + "/lockset/lockset.db";
  const std::string home = home_directory();
  if (home.empty()) {
    return Error{Errc::misconfigured,
                 "sqlite: without a path means a file in the home directory, and this user has "
                 "none: write sqlite:/path/to/file"};
  }
  return home + "/.local/state/lockset/lockset.db";
}

}  // namespace

Result<Options> parse_address(const Url& url) {
  if (!url.hosts.empty() || !url.user.empty()) {
    return Error{Errc::invalid,
                 "a sqlite: address names a file and no host: write sqlite:/abs/path, " +
                     ("sqlite:rel/path or sqlite:///abs/path, not " + url.redacted())};
  }
  if (url.path.find('\0') != std::string::npos || url.path == ":memory:") {
    return Error{Errc::invalid, in_quotes(url.path) +
                                    " can't be a lock database: name a file, or use memory: for "
                                    "locks inside one process"};
  }
  Options options;
  options.default_path = url.path.empty();
  Result<std::string> path = url.path.empty() ? default_path() : Result<std::string>(url.path);
  if (!path) return path.error();
  std::error_code failed;
  options.path = std::filesystem::absolute(*path, failed).lexically_normal().string();
  if (failed) {
    return Error{Errc::misconfigured, "can't make " + in_quotes(*path) + " absolute: " +
                                          failed.message() + "; write sqlite:/abs/path"};
  }
  std::optional<bool> durability;
  std::optional<bool> synchronous;  // what it was called before
  Status read = addresses::read_parameters(
      url, {{"durability", addresses::one_of(durability, {{"lease", false}, {"full", true}})},
            {"synchronous", addresses::one_of(synchronous, {{"full", true}, {"normal", false}})}});
  if (!read) return read.error();
  if (durability && synchronous && *durability != *synchronous) {
    return addresses::invalid(
        "durability and synchronous say different things: synchronous is the older word; leave it "
        "out");
  }
  options.sync_all = durability.value_or(synchronous.value_or(false));
  return options;
}

}  // namespace lockset::sqlite
