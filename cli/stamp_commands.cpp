// lockset renew, release and break: what names a hold by its stamp.
#include <charconv>
#include <cstdio>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/open_space.h"
#include "lockset/lock_set.h"

namespace lockset::cli {
namespace {

Stamp stamp_of(const Invocation& invocation, std::string_view what) {
  check_operands(invocation, 1, 1, what);
  const std::string& text = invocation.line.operands.front();
  Stamp stamp;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, stamp.value);
  if (failed != std::errc{} || stop != end || !stamp) {
    throw Failure(exit_usage, in_quotes(text) +
                                  " is no stamp: a positive number, as acquire and status show it");
  }
  return stamp;
}

[[noreturn]] void fail_not_held(Stamp stamp, const Locks& locks) {
  throw Failure(exit_not_held,
                "there is no hold " + std::to_string(stamp.value) + " of application " +
                    in_quotes(locks.app()) +
                    ": it was released, has expired or was broken, or it belongs to another "
                    "application (--app; see lockset status)");
}

}  // namespace

int renew_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "renew STAMP");
  Locks locks = open_space(invocation.settings);
  const Result<Duration> lease = locks.renew_locks(stamp, invocation.settings.duration(Opt::lease));
  if (!lease && lease.error().code == Errc::not_held) fail_not_held(stamp, locks);
  if (!lease) fail(lease.error());
  std::puts(*lease == Duration::max() ? "none" : format_duration(*lease).c_str());
  return exit_ok;
}

int release_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "release STAMP");
  Locks locks = open_space(invocation.settings);
  const Status released = locks.release_locks(stamp);
  if (!released && released.error().code == Errc::not_held) fail_not_held(stamp, locks);
  or_fail(released);
  return exit_ok;
}

int break_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "break STAMP");
  Locks locks = open_space(invocation.settings);
  const Status broken = locks.break_hold(stamp);
  if (!broken && broken.error().code == Errc::not_held) {
    throw Failure(exit_not_held, "there is no hold " + std::to_string(stamp.value) +
                                     ": it was released, has expired or was broken before");
  }
  or_fail(broken);
  return exit_ok;
}

}  // namespace lockset::cli
