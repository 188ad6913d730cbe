#include "cli/lock_wait.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <variant>

#include "cli/chat.h"
#include "cli/observation_text.h"
#include "cli/open_space.h"
#include "cli/progress.h"
#include "lockset/lock_set.h"
#include "lockset/url.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;
namespace {

// Remembers which hold is in the way, and reports every event with --verbose.
class Watcher : public Observer {
 public:
  explicit Watcher(bool verbose) : verbose_(verbose) {}

  void on_event(const Event& event) noexcept override try {
    const std::lock_guard lock(mutex_);
    if (event.kind == Event::Kind::busy) blocker_ = event.detail;
    // One line as long as nothing else happens, no matter how many attempts there are.
    const bool repeated = is_trouble(event.kind) && event.kind == last_ && event.detail == detail_;
    last_ = event.kind;
    detail_ = event.detail;
    if (event.kind == Event::Kind::busy || event.kind == Event::Kind::retried) {
      obstacle_ = event.detail;
    }
    if (!verbose_ || repeated) return;
    std::string line(to_string(event.kind));
    if (event.count > 0) line += " " + std::to_string(event.count) + " times";
    if (event.stamp) line += " " + std::to_string(event.stamp.value);
    if (!event.detail.empty()) line += ": " + std::string(event.detail);
    if (event.took > Duration::zero()) line += " (" + format_duration(event.took) + ")";
    say(line);
  } catch (...) {
    // No memory for a message is no reason to end.
  }

  [[nodiscard]] std::string blocker() const {
    const std::lock_guard lock(mutex_);
    return blocker_;
  }
  // What the acquire waits for now: a holder in its way, or a store that does not answer.
  [[nodiscard]] std::string obstacle() const {
    const std::lock_guard lock(mutex_);
    return obstacle_;
  }

 private:
  static bool is_trouble(Event::Kind kind) {
    return kind == Event::Kind::busy || kind == Event::Kind::retried ||
           kind == Event::Kind::renewal_failed || kind == Event::Kind::release_failed;
  }

  const bool verbose_;
  mutable std::mutex mutex_;
  std::string blocker_;
  std::string obstacle_;
  std::optional<Event::Kind> last_;
  std::string detail_;
};

// How the thread that asks the store ended.
struct OpenFailed {
  Error error;
};
struct NotFree {};
struct NoThread {
  int error;
};
using Outcome = std::variant<std::monostate, OpenFailed, NotFree, NoThread, Error, Locked>;

std::string set_text(const LockSet& set) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < set.size() && i < most; ++i) {
    text += (i > 0 ? ", " : "") + in_quotes(set.items()[i].name);
  }
  if (set.size() > most) text += " and " + std::to_string(set.size() - most) + " more";
  return text;
}

Outcome attempt(const std::string& url, Options options, const WantedLocks& wanted, Duration wait,
                const std::stop_token& stop) {
  const TimePoint began = BootClock::now();
  // A command that waits for its locks also waits for their store.
  options.open_patience = std::min(wait, options.store_patience);
  options.stop_opening = stop;
  Result<Locks> opened = open(url, std::move(options));
  if (!opened) return OpenFailed{opened.error()};
  Locks locks = std::move(*opened);
  if (!locks.traits().shared_between_processes) {
    return OpenFailed{Error{Errc::misconfigured,
                            redact_url(url) +
                                " is this process's own, so the locks would exclude nobody: name a "
                                "store that processes share, such as sqlite:"}};
  }
  if (wait == Duration::zero()) {
    Result<std::optional<Hold>> tried = locks.try_acquire(
        wanted.set, {.outlives_process = true, .unchanged_since = wanted.unchanged_since});
    if (!tried) return tried.error();
    if (!*tried) return NotFree{};
    return Locked{std::move(locks), std::move(**tried), BootClock::now()};
  }
  AcquireOptions acquire;
  // The command that runs under the lock may outlive this process for a moment.
  acquire.outlives_process = true;
  acquire.wait =
      wait == forever ? forever : std::max(wait - (BootClock::now() - began), Duration::zero());
  acquire.stop = stop;
  acquire.unchanged_since = wanted.unchanged_since;
  Result<Hold> hold = locks.acquire(wanted.set, acquire);
  if (!hold) return hold.error();
  return Locked{std::move(locks), std::move(*hold), BootClock::now()};
}

Duration wait_of(const Settings& settings) {
  if (settings.has(Opt::no_wait)) {
    if (settings.from_command_line(Opt::wait)) {
      throw Failure(exit_usage, "-n and -w exclude each other; give one of them");
    }
    return Duration::zero();
  }
  return settings.duration(Opt::wait);
}

std::optional<Observation> condition_of(const Settings& settings) {
  if (!settings.has(Opt::unless_changed)) return {};
  const std::vector<std::string>& given = settings.all(Opt::unless_changed);
  if (given.size() > 1) {
    throw Failure(exit_usage,
                  "--unless-changed is given twice; observe all names by one lockset observe");
  }
  return observation_of(given.front(), "--unless-changed");
}

// The command guesses no lock: read and write keep different people out.
void check_observed_are_locked(const Observation& seen, const std::vector<LockRequest>& items) {
  for (const Observation::Item& item : seen.items()) {
    const bool locked = std::any_of(items.begin(), items.end(), [&](const LockRequest& request) {
      return request.name == item.name;
    });
    if (locked) continue;
    throw Failure(
        exit_usage,
        in_quotes(item.name) + " was observed and is not locked; name it with --write or --read");
  }
}

}  // namespace

WantedLocks wanted_locks_of(const Settings& settings, const std::vector<std::string>& bare) {
  std::vector<LockRequest> items;
  for (const std::string& name : settings.all(Opt::read_names)) items.push_back(read(name));
  for (const std::string& name : settings.all(Opt::write_names)) items.push_back(write(name));
  for (const std::string& name : bare) items.push_back(write(name));
  std::optional<Observation> seen = condition_of(settings);
  if (seen) check_observed_are_locked(*seen, items);
  if (items.empty()) {
    throw Failure(exit_usage, "no lock is named; say NAME or --write NAME, or --read NAME");
  }
  return {or_fail(LockSet::make(std::move(items))), std::move(seen)};
}

Locked take_locks(const Settings& settings, const WantedLocks& wanted, const std::string& what,
                  Signals& signals) {
  const LockSet& set = wanted.set;
  const Duration wait = wait_of(settings);
  auto watcher = std::make_shared<Watcher>(settings.has(Opt::verbose));
  Options options = options_of(settings, what);
  options.observer = watcher;

  const FileDescriptor finished(::eventfd(0, EFD_CLOEXEC));
  if (!finished) fail_system("open a file descriptor", errno);
  Outcome outcome;
  std::stop_source stop;
  int ended_by = 0;
  {
    // Another thread asks the store, so that this one can react to signals.
    std::jthread asker([&] {
      try {
        outcome =
            attempt(settings.text(Opt::url), std::move(options), wanted, wait, stop.get_token());
      } catch (const std::system_error& error) {
        outcome = NoThread{error.code().value()};
      } catch (const std::exception& error) {
        outcome = Error{Errc::internal, error.what()};
      }
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = ::write(finished.get(), &one, sizeof one);
    });
    Progress progress;
    const TimePoint began = BootClock::now();
    for (;;) {
      pollfd fds[2] = {{finished.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
      constexpr int refresh_ms = 500;
      ::poll(fds, 2, refresh_ms);
      if (fds[0].revents != 0) break;
      while (const std::optional<int> signal = signals.next()) {
        if (asks_to_end(*signal)) {
          ended_by = *signal;
          stop.request_stop();
        } else if (*signal == SIGTSTP) {
          progress.clear();
          signals.stop_self();
        }
      }
      const std::string obstacle = watcher->obstacle();
      if (!obstacle.empty() && ended_by == 0) {
        const auto waited =
            std::chrono::duration_cast<std::chrono::seconds>(BootClock::now() - began);
        progress.show("waiting for " + format_duration(waited) + ": " + obstacle);
      }
    }
  }
  // A signal that arrived together with the answer counts as well.
  while (const std::optional<int> signal = signals.next()) {
    if (asks_to_end(*signal)) ended_by = *signal;
  }
  if (ended_by != 0) {
    if (Locked* const locked = std::get_if<Locked>(&outcome)) {
      // If the reply is lost, the hold ends with its lease.
      [[maybe_unused]] const Status released = locked->hold.release();
    }
    throw Failure(exit_signal + ended_by,
                  signal_name(ended_by) + " ended the wait for " + set_text(set));
  }
  const std::string blocker = watcher->blocker();
  // With exit code 0, print nothing: cron must not send mail about it.
  const int conflict_code = std::stoi(settings.text(Opt::conflict_code));
  const bool quiet = settings.has(Opt::quiet) || conflict_code == exit_ok;
  if (const auto* const failed = std::get_if<OpenFailed>(&outcome)) {
    fail_open(failed->error, settings);
  }
  if (const auto* const none = std::get_if<NoThread>(&outcome)) {
    fail_system("start a thread", none->error);
  }
  if (std::holds_alternative<NotFree>(outcome)) {
    throw Failure(conflict_code, quiet             ? ""
                                 : blocker.empty() ? set_text(set) + " is not free"
                                                   : "not free: " + blocker);
  }
  if (const auto* const error = std::get_if<Error>(&outcome)) {
    if (error->code == Errc::timeout) {
      // As in flock(1): if -E is given, it applies to both cases.
      throw Failure(settings.has(Opt::conflict_code) ? conflict_code : exit_timeout,
                    quiet ? ""
                          : "still not free after " + format_duration(wait) + ": " +
                                (blocker.empty() ? set_text(set) : blocker));
    }
    fail(*error);
  }
  return std::move(std::get<Locked>(outcome));
}

}  // namespace lockset::cli
