// lockset init
#include <cstdio>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/open_space.h"
#include "lockset/registry.h"
#include "lockset/url.h"

namespace lockset::cli {

int init_command(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "init [--max-lease D]");
  const Settings& settings = invocation.settings;
  const std::string& url = settings.text(Opt::url);
  // Making tables may wait for other sessions; a person is there to interrupt it.
  constexpr std::chrono::seconds patience(60);
  if (const Status made = init_space(url, BootClock::now() + patience); !made) {
    fail_open(made.error(), settings);
  }
  if (settings.has(Opt::max_lease)) {
    Locks locks = open_space(settings);
    or_fail(locks.set_max_lease(settings.duration(Opt::max_lease)));
  }
  const std::string text = "the lock space at " + redact_url(url) + " is ready\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return exit_ok;
}

}  // namespace lockset::cli
