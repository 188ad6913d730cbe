#include "cli/default_file.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/chat.h"
#include "lockset/lock_set.h"
#include "lockset/url.h"

namespace lockset::cli {
namespace {

std::string default_file_in(const char* home) {
  return std::string(home) + "/.local/state/lockset/lockset.db";
}

bool means_the_default(const Settings& settings) {
  const Result<Url> url = Url::parse(settings.text(Opt::url));
  return url && url->scheme == "sqlite" && url->path.empty();
}

}  // namespace

void warn_of_other_default_files(const Settings& settings) {
  if (!means_the_default(settings)) return;
  // A user can't look into root's home, but sees the place that docs/guide.md, section 6, gives to
  // a space of all users. A file of settings of the user's own replaces /etc/lockset.conf.
  constexpr const char* for_all = "/var/lib/lockset";
  if (::access(for_all, F_OK) == 0) {
    warn(std::string(for_all) +
         " is there for the space of all users of this host, and this job locks in the user's own "
         "file, so it excludes no other user's: url = sqlite:/var/lib/lockset/locks.db in "
         "/etc/lockset.conf, or in the file that replaces it");
    return;
  }
  if (::geteuid() != 0) return;
  // The file, not getpwent(): a directory of users somewhere else may have thousands, or be down.
  const std::unique_ptr<FILE, int (*)(FILE*)> users(std::fopen("/etc/passwd", "re"), &std::fclose);
  if (!users) return;
  while (const passwd* const user = ::fgetpwent(users.get())) {
    if (user->pw_uid == 0 || user->pw_dir == nullptr) continue;
    const std::string file = default_file_in(user->pw_dir);
    if (::access(file.c_str(), F_OK) != 0) continue;
    warn(
        std::string(in_quotes(user->pw_name)) + " has a lock space of its own, " + file +
        ", and its jobs do not exclude those of root: name one for all users in /etc/lockset.conf, "
        "url = sqlite:/var/lib/lockset/locks.db (docs/guide.md, section 6)");
    return;
  }
}

}  // namespace lockset::cli
