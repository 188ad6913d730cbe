#include "cli/migrate_steps.h"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "cli/audit.h"
#include "cli/chat.h"
#include "cli/open_space.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "lockset/url.h"
#include "tools/failure.h"
#include "tools/table.h"

namespace lockset::cli {

using namespace tools;
namespace {

// How often to look whether the wait is over.
constexpr int look_again_ms = 500;

// Reports what we wait for: in place on a terminal, elsewhere a new line when it changes.
class Waiting {
 public:
  void tell(const std::string& text) {
    if (progress_.on_terminal()) {
      progress_.show("waiting: " + harmless(text));
      return;
    }
    // A changed number of seconds is no news.
    std::string kind = text;
    std::erase_if(kind, [](unsigned char c) { return c >= '0' && c <= '9'; });
    if (kind == told_) return;
    told_ = kind;
    say("waiting: " + harmless(text));
  }
  void clear() { progress_.clear(); }

 private:
  Progress progress_;
  std::string told_;
};

// Waits until it is time to look again. Failure 128 + n if a signal asks us to end.
void pause(Signals& signals, Waiting& waiting, MigrationPhase phase) {
  pollfd fd{signals.fd(), POLLIN, 0};
  ::poll(&fd, 1, look_again_ms);
  while (const std::optional<int> signal = signals.next()) {
    if (asks_to_end(*signal)) {
      waiting.clear();
      throw Failure(exit_signal + *signal,
                    signal_name(*signal) + ": stopped between two steps, in phase " +
                        std::string(to_string(phase)) +
                        "; nothing is half done, and the same command goes on");
    }
    if (*signal == SIGTSTP) {
      waiting.clear();
      signals.stop_self();
    }
  }
}

bool all_pass(const std::vector<MigrationObstacle>& obstacles) {
  return std::ranges::all_of(obstacles, [](const MigrationObstacle& each) { return each.passes; });
}

bool time_alone(const std::vector<MigrationObstacle>& obstacles) {
  return std::ranges::all_of(
      obstacles, [](const MigrationObstacle& each) { return each.time_left > Duration::zero(); });
}

[[noreturn]] void refuse(const std::vector<MigrationObstacle>& obstacles) {
  for (std::size_t i = 0; i + 1 < obstacles.size(); ++i) say_error(harmless(obstacles[i].text));
  throw Failure(all_pass(obstacles) ? exit_conflict : exit_config, harmless(obstacles.back().text));
}

bool store_trouble(const Error& error) { return error.retryable() || error.may_have_applied(); }

// No step is possible from here: the request makes no sense, or the stores don't fit.
[[noreturn]] void fail_step(const Error& error) {
  if (error.code == Errc::invalid || error.code == Errc::unsupported) {
    throw Failure(exit_config, error.message);
  }
  fail(error);
}

struct Addresses {
  std::string from;
  std::string to;
};

Addresses addresses_of(const Settings& settings) {
  if (settings.has(Opt::migrate_from)) {
    return {settings.text(Opt::migrate_from), settings.text(Opt::migrate_to)};
  }
  // An address for programs contains both.
  const Result<Url> url = Url::parse(settings.text(Opt::url));
  if (settings.has(Opt::url) && url && url->scheme == "migrate" && url->params.contains("from") &&
      url->params.contains("to")) {
    return {url->params.at("from"), url->params.at("to")};
  }
  throw Failure(exit_config,
                "which stores? set migrate.from and migrate.to, or LOCKSET_MIGRATE_FROM and "
                "LOCKSET_MIGRATE_TO, to the addresses of the old and the new one" +
                    std::string(settings.has(Opt::url)
                                    ? ", in place of url (" + settings.origin(Opt::url) + ")"
                                    : ""));
}

// The phase if nothing is left to do; unset: take one more step.
bool arrived(const Journey& journey, MigrationPhase phase) {
  if (!journey.to) return false;
  return journey.ahead ? phase >= *journey.to : phase <= *journey.to;
}

void check_direction(const Journey& journey, MigrationPhase phase) {
  if (!journey.to || phase == *journey.to) return;
  if (journey.ahead == (phase < *journey.to)) return;
  throw Failure(exit_usage, "the phase is " + std::string(to_string(phase)) + " already; to go " +
                                (journey.ahead ? "back there is `lockset migrate rollback`"
                                               : "on there is `lockset migrate advance`"));
}

}  // namespace

std::string phase_text(MigrationPhase phase) {
  constexpr std::string_view meaning[] = {
      "holds stand in the old store alone",
      "holds stand in the old store alone, and the new one is tried beside",
      "holds stand in both stores; stamps are the old store's",
      "holds stand in both stores; stamps are the new store's",
      "holds stand in the new store alone",
      "the old store is closed and empty",
      "the new store is an ordinary space; there is no way back"};
  return std::string(to_string(phase)) + ": " +
         std::string(meaning[static_cast<std::size_t>(phase)]);
}

void audit_step(const Settings& settings, const Result<MigrationPhase>& done,
                std::string_view action, MigrationPhase before) {
  const Status outcome = done ? Status() : Status(done.error());
  audit(settings, outcome, action,
        "from " + std::string(to_string(before)) +
            (done ? " to " + std::string(to_string(*done)) : ""));
}

Steersman take_the_helm(const Settings& settings) {
  const Addresses addresses = addresses_of(settings);
  const Duration io_timeout = settings.duration(Opt::io_timeout);
  Result<Migration> migration =
      Migration::open(addresses.from, addresses.to, BootClock::now() + 2 * io_timeout);
  if (!migration) {
    const Errc code = migration.error().code;
    if (code == Errc::unsupported) throw Failure(exit_config, migration.error().message);
    fail_open(migration.error(), settings);
  }
  return {std::move(*migration), redact_url(addresses.from), redact_url(addresses.to), io_timeout};
}

int travel(const Settings& settings, const Journey& journey) {
  Signals signals;
  Steersman at_helm = take_the_helm(settings);
  Migration& migration = at_helm.migration;
  const MigrationStatus status = or_fail(migration.status(at_helm.soon()));
  MigrationPhase phase = status.phase;
  if (!status.switching) {
    check_direction(journey, phase);
    if (arrived(journey, phase)) {
      print(phase_text(phase) + "\n");
      return exit_ok;
    }
  }
  Waiting waiting;
  for (;;) {
    const Result<std::vector<MigrationObstacle>> obstacles =
        journey.ahead ? migration.obstacles_ahead(at_helm.soon())
                      : migration.obstacles_back(at_helm.soon());
    if (!obstacles) {
      if (!journey.watch || !store_trouble(obstacles.error())) fail_step(obstacles.error());
      waiting.tell(obstacles.error().message);
    } else if (!obstacles->empty()) {
      const bool wait = journey.watch ? all_pass(*obstacles) : time_alone(*obstacles);
      if (!wait) {
        waiting.clear();
        refuse(*obstacles);
      }
      std::string more;
      if (obstacles->size() > 1) {
        more = " (and " + std::to_string(obstacles->size() - 1) + " more)";
      }
      waiting.tell(obstacles->front().text + more);
    } else {
      const Result<MigrationPhase> done =
          journey.ahead ? migration.advance(at_helm.soon()) : migration.roll_back(at_helm.soon());
      audit_step(settings, done, journey.ahead ? "migrate advance" : "migrate rollback", phase);
      if (done) {
        waiting.clear();
        phase = *done;
        print(phase_text(phase) + "\n");
        if (!journey.to || arrived(journey, phase)) return exit_ok;
      } else if (!journey.watch || !store_trouble(done.error())) {
        // A moment ago nothing blocked the step: somebody else was faster, or steers too.
        if (done.error().retryable()) throw Failure(exit_conflict, done.error().message);
        fail_step(done.error());
      } else {
        waiting.tell(done.error().message);
      }
      if (done) continue;
    }
    pause(signals, waiting, phase);
  }
}

}  // namespace lockset::cli
