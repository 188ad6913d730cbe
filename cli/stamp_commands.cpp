// lockset renew, release and break: the commands that name a hold by its stamp.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <random>
#include <thread>

#include "cli/audit.h"
#include "cli/command.h"
#include "cli/open_space.h"
#include "lockset/lock_set.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
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

// Others wait for releases and renewals. If the store does not answer, or if the waiters use up its
// connections, the call is repeated for as long as --patience says. `repeat_unknown`: a call whose
// outcome is unknown may be repeated.
template <class Call>
auto patiently(const Settings& settings, bool repeat_unknown, const Call& call) {
  using std::chrono::milliseconds;
  const Options options = options_of(settings, "lockset");
  const auto until =
      std::chrono::steady_clock::now() +
      std::min<Duration>(settings.duration(Opt::patience), std::chrono::hours(24 * 365));
  std::minstd_rand random(std::random_device{}());
  for (milliseconds pause(100);; pause = std::min(pause * 2, milliseconds(1000))) {
    Result<Locks> locks = open(settings.text(Opt::url), options);
    const bool late = std::chrono::steady_clock::now() >= until;
    if (locks) {
      auto result = call(*locks);
      const bool again =
          !result && (result.error().retryable() ||
                      (repeat_unknown && result.error().code == Errc::indeterminate));
      if (!again || late) return result;
    } else if (!locks.error().retryable() || late) {
      fail_open(locks.error(), settings);
    }
    // Clients that are refused together must not come back together.
    std::uniform_int_distribution<milliseconds::rep> part(pause.count() / 2, pause.count());
    std::this_thread::sleep_for(milliseconds(part(random)));
  }
}

// For the audit line, which must not hinder the deed: if the store does not tell, the stamp alone.
std::string description_of(Stamp stamp, Locks& locks) {
  std::string text = "hold " + std::to_string(stamp.value);
  const Result<Inspection> inspection = locks.inspect();
  if (!inspection) return text;
  for (const HoldInfo& hold : inspection->holds) {
    if (hold.stamp != stamp) continue;
    text += " of " + in_quotes(hold.owner.app) + " (" + hold.owner.label + ")";
    std::string separator = ": ";
    for (const LockRequest& item : hold.items) {
      text += separator + std::string(to_string(item.mode)) + " " + in_quotes(item.name);
      separator = ", ";
    }
  }
  return text;
}

}  // namespace

int renew_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "renew STAMP");
  const Settings& settings = invocation.settings;
  const Result<Duration> lease = patiently(settings, true, [&](Locks& locks) {
    // Without --lease: the default, or the space's longest lease if that is shorter.
    Result<Duration> renewed = settings.has(Opt::lease)
                                   ? locks.renew_locks(stamp, settings.duration(Opt::lease))
                                   : locks.renew_locks(stamp);
    if (!renewed && renewed.error().code == Errc::not_held) fail_not_held(stamp, locks);
    return renewed;
  });
  if (!lease) fail(lease.error());
  std::puts(*lease == Duration::max() ? "none" : format_duration(*lease).c_str());
  return exit_ok;
}

int release_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "release STAMP");
  or_fail(patiently(invocation.settings, false, [&](Locks& locks) {
    Status released = locks.release_locks(stamp);
    if (!released && released.error().code == Errc::not_held) fail_not_held(stamp, locks);
    return released;
  }));
  return exit_ok;
}

int break_command(const Invocation& invocation) {
  const Stamp stamp = stamp_of(invocation, "break STAMP");
  Locks locks = open_space(invocation.settings);
  const std::string whose = description_of(stamp, locks);
  const Status broken = locks.break_hold(stamp);
  audit(invocation.settings, broken, "break", whose);
  if (!broken && broken.error().code == Errc::not_held) {
    throw Failure(exit_not_held, "there is no hold " + std::to_string(stamp.value) +
                                     ": it was released, has expired or was broken before");
  }
  or_fail(broken);
  return exit_ok;
}

}  // namespace lockset::cli
