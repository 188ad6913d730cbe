// lockset acquire: a hold that outlives the command.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cli/chat.h"
#include "cli/command.h"
#include "cli/default_file.h"
#include "cli/lock_wait.h"
#include "cli/signals.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

bool print_stamp(Stamp stamp) {
  return std::printf("%lld\n", static_cast<long long>(stamp.value)) > 0 && std::fflush(stdout) == 0;
}

}  // namespace

int acquire_command(const Invocation& invocation) {
  const std::vector<std::string>& names = invocation.line.operands;
  check_operands(invocation, 0, names.size(), "acquire [NAME]... [--read NAME]... --lease D");
  const Settings& settings = invocation.settings;
  const WantedLocks wanted = wanted_locks_of(settings, names);
  if (!settings.has(Opt::lease)) {
    throw Failure(exit_usage,
                  "acquire needs --lease D: nobody renews the hold, so say how long it may last "
                  "(or none)");
  }
  warn_of_other_default_files(settings);
  Signals signals;
  const Chat chat(signals);
  Locked locked = take_locks(settings, wanted, "lockset acquire", signals);
  const Duration asked = settings.duration(Opt::lease);
  const Duration lease = locked.hold.lease();
  Result<Stamp> stamp = locked.hold.detach();
  if (!stamp) {
    [[maybe_unused]] const Status released = locked.hold.release();
    fail(stamp.error());
  }
  if (!print_stamp(*stamp)) {
    const int error = errno;
    // Nobody learned the stamp, so nobody could release it.
    [[maybe_unused]] const Status released = locked.locks.release_locks(*stamp);
    throw Failure(exit_output, std::string("can't write the stamp to standard output: ") +
                                   std::strerror(error) + "; released again");
  }
  if (lease < asked) {
    warn("the store grants a lease of " + format_duration(lease) +
         " at most; renew before it ends");
  }
  return exit_ok;
}

}  // namespace lockset::cli
