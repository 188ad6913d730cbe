// lockset init
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "cli/audit.h"
#include "cli/command.h"
#include "cli/findings.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "lockset/registry.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

// A role that an account is to get.
struct Wanted {
  Role role;
  std::string account;
};

std::vector<Wanted> wanted(const Settings& settings) {
  std::vector<Wanted> all;
  for (const auto& [option, role] :
       {std::pair(Opt::programs, Role::programs), std::pair(Opt::operators, Role::operators)}) {
    if (!settings.has(option)) continue;
    for (const std::string& account : settings.all(option)) {
      for (const Wanted& other : all) {
        if (other.account != account || other.role == role) continue;
        throw Failure(exit_usage, "--program and --operator both name " + in_quotes(account) +
                                      ": an operator may do all that a program may");
      }
      all.push_back({role, account});
    }
  }
  return all;
}

int print_script(const Settings& settings) {
  for (const Opt option : {Opt::max_lease, Opt::fair}) {
    if (!settings.has(option)) continue;
    const std::string name = "--" + std::string(cli::option(option).name);
    throw Failure(exit_usage, "--print and " + name + " exclude each other; run lockset init " +
                                  name + " once the script has made the space");
  }
  const std::string& url = settings.text(Opt::url);
  const std::vector<Wanted> roles = wanted(settings);
  const Result<std::string> script = init_script(url);
  if (!script && script.error().code != Errc::unsupported) fail_open(script.error(), settings);
  // A store may need no script to make a space, and still have accounts.
  std::string text = script || roles.empty() ? or_fail(script) : "";
  for (const Wanted& each : roles) {
    text += or_fail(rights_script(url, each.role, each.account));
  }
  print(text);
  return exit_ok;
}

// The user that runs init decides with whose rights the store does our work.
void warn_of_the_definer(const std::string& url, Duration patience) {
  const Result<std::vector<Finding>> findings = examine_space(url, BootClock::now() + patience);
  if (!findings) return;  // doctor says more
  for (const Finding& each : *findings) {
    if (each.subject != "definer" || each.level == Finding::Level::good) continue;
    print(std::string(word_of(each.level)) + ": " + harmless(each.text) + "\n");
  }
}

}  // namespace

int init_command(const Invocation& invocation) {
  check_operands(
      invocation, 0, 0,
      "init [--max-lease D] [--fair K | --print] [--program ACCOUNT] [--operator ACCOUNT]");
  const Settings& settings = invocation.settings;
  if (settings.has(Opt::print)) return print_script(settings);
  const std::string& url = settings.text(Opt::url);
  const std::vector<Wanted> roles = wanted(settings);
  // Making tables may wait for other sessions; a person can interrupt it.
  constexpr std::chrono::seconds patience(60);
  if (const Status made = init_space(url, BootClock::now() + patience); !made) {
    fail_open(made.error(), settings);
  }
  if (settings.has(Opt::max_lease) || settings.has(Opt::fair)) {
    Locks locks = open_space(settings);
    if (settings.has(Opt::max_lease)) {
      const Status done = locks.set_max_lease(settings.duration(Opt::max_lease));
      audit(settings, done, "init", "longest lease " + settings.text(Opt::max_lease));
      or_fail(done);
    }
    if (settings.has(Opt::fair)) {
      const Status done = locks.set_max_overtakes(*overtakes_of(settings.text(Opt::fair)));
      audit(settings, done, "init", "fair " + settings.text(Opt::fair));
      or_fail(done);
    }
  }
  print("the lock space at " + redact_url(url) + " is ready\n");
  warn_of_the_definer(url, patience);
  for (const Wanted& each : roles) {
    const Status done = allow(url, each.role, each.account, BootClock::now() + patience);
    audit(settings, done, "init",
          std::string(each.role == Role::programs ? "program " : "operator ") +
              in_quotes(each.account));
    or_fail(done);
    print(each.account + (each.role == Role::programs ? " may lock in it as a program\n"
                                                      : " may administer it as an operator\n"));
  }
  return exit_ok;
}

}  // namespace lockset::cli
