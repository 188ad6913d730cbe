// lockset init
#include <cstdio>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/open_space.h"
#include "lockset/registry.h"
#include "lockset/url.h"

namespace lockset::cli {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int print_script(const Settings& settings) {
  if (settings.has(Opt::max_lease)) {
    throw Failure(exit_usage,
                  "--print and --max-lease exclude each other; run lockset init --max-lease once "
                  "the script has made the space");
  }
  const Result<std::string> script = init_script(settings.text(Opt::url));
  if (!script && script.error().code != Errc::unsupported) fail_open(script.error(), settings);
  print(or_fail(script));
  return exit_ok;
}

}  // namespace

int init_command(const Invocation& invocation) {
  check_operands(invocation, 0, 0, "init [--max-lease D | --print]");
  const Settings& settings = invocation.settings;
  if (settings.has(Opt::print)) return print_script(settings);
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
  print("the lock space at " + redact_url(url) + " is ready\n");
  return exit_ok;
}

}  // namespace lockset::cli
