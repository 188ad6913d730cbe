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
  if (::geteuid() != 0 || !means_the_default(settings)) return;
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
