#include "tests/chaos/migration/pilot.h"

#include <condition_variable>
#include <utility>

#include "tests/chaos/migration/reason.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// The time for one call, and the pause after a failed one.
constexpr Duration time_of_call = 15s;
constexpr Duration before_next_try = 200ms;

}  // namespace

Pilot::Pilot(std::string from, std::string to, Helm helm)
    : old_(std::move(from)), new_(std::move(to)), helm_(std::move(helm)) {}

void Pilot::begin(Act act, MigrationPhase from, MigrationPhase to, Duration limit) {
  end();
  over_ = false;
  step_ = {
      .act = act, .phase = to, .from = BootClock::now(), .to = {}, .obstacles = {}, .failure = {}};
  obstacle_.clear();
  thread_ = std::jthread([=, this](const std::stop_token& stop) {
    make(act, from, to, BootClock::now() + limit, stop);
  });
}

std::optional<Pilot::Step> Pilot::done() {
  if (!over_) return {};
  thread_.join();
  over_ = false;
  return std::move(step_);
}

std::string Pilot::obstacle() const {
  const std::scoped_lock lock(mutex_);
  return obstacle_;
}

void Pilot::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Pilot::make(Act act, MigrationPhase from, MigrationPhase to, TimePoint limit,
                 const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  for (;;) {
    ++step_.tries;
    const std::optional<Error> why = attempt(act, from, to);
    if (!why) break;
    const std::string text = std::string(to_string(why->code)) + ": " + why->message;
    ++step_.obstacles[without_numbers(text)];
    {
      const std::scoped_lock shown(mutex_);
      obstacle_ = text;
    }
    if (stop.stop_requested() || BootClock::now() > limit) {
      step_.failure = text;
      break;
    }
    never.wait_for(lock, stop, before_next_try, [] { return false; });
  }
  migration_.reset();
  step_.to = BootClock::now();
  over_ = true;
}

// An earlier try may have been applied although its reply was lost, and another one would go a step
// too far. So this looks at the phase first.
std::optional<Error> Pilot::attempt(Act act, MigrationPhase from, MigrationPhase to) {
  const TimePoint by = BootClock::now() + time_of_call;
  if (!migration_) {
    Result<Migration> opened = Migration::open(old_, new_, by);
    if (!opened) return opened.error();
    migration_.emplace(*std::move(opened));
  }
  const Result<MigrationStatus> status = migration_->status(by);
  if (!status) {
    migration_.reset();
    return status.error();
  }
  if (!status->certain) {
    return Error{Errc::unavailable, "the phase is not known: " + status->notes.front()};
  }
  if (status->phase == to && !status->switching) return {};
  if (status->phase != from && status->phase != to) {
    return Error{Errc::internal,
                 "the migration is found in the phase " + std::string(to_string(status->phase))};
  }
  return helm_(*migration_, act, to, by);
}

}  // namespace lockset::chaos
