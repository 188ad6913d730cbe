#include "tests/chaos/migration/quarrel.h"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "lockset/forwarding_backend.h"
#include "lockset/registry.h"
#include "tests/support/client.h"
#include "tests/support/recording_backend.h"

namespace lockset::chaos {
namespace {

using namespace std::chrono_literals;

// A step looks at both stores, and waits for its obstacles.
constexpr Duration time_of_a_step = 15s;
// A process that was interrupted during a step leaves a hold that prevents others from steering for
// 10 s.
constexpr Duration patience_of_the_second = 60s;
// A step back makes at most this many calls.
constexpr std::size_t most_calls = 25;
constexpr std::size_t most_changes = 5;
constexpr const char* name_in_dispute = "in dispute";

// Reports each call to a store before it is made, and whether it changes the configuration.
class Telling final : public ForwardingBackend {
 public:
  Telling(std::shared_ptr<Backend> inner, std::function<void(bool change)> told)
      : ForwardingBackend(std::move(inner)), told_(std::move(told)) {}
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    told_(false);
    return ForwardingBackend::try_acquire(request);
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    told_(false);
    return ForwardingBackend::resolve(attempt, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    told_(false);
    return ForwardingBackend::release(hold, app, by);
  }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    told_(false);
    return ForwardingBackend::inspect(query, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override {
    told_(false);
    return ForwardingBackend::load_config(by);
  }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    told_(true);
    return ForwardingBackend::change_config(change, by);
  }

 private:
  const std::function<void(bool change)> told_;
};

std::shared_ptr<Backend> opened(const std::string& url) {
  auto store = open_backend(url, BootClock::now() + time_of_a_step);
  if (!store) throw std::runtime_error(store.error().message);
  return *std::move(store);
}

}  // namespace

Quarrel::Quarrel(std::string from, std::string to, std::uint64_t seed, const std::string& log)
    : old_(std::move(from)),
      new_(std::move(to)),
      at_(seed % most_calls),
      recorder_(std::make_shared<test::Recorder>("quarrel", log)) {}

void Quarrel::begin(Duration time, Duration limit) {
  end();
  over_ = false;
  outcome_ = {};
  thread_ = std::jthread([=, this](const std::stop_token& stop) {
    const TimePoint enough = BootClock::now() + time;
    const TimePoint until = BootClock::now() + limit;
    do {
      try {
        quarrel(until, stop);
      } catch (const std::exception& error) {  // a store failed: try again next time
        outcome_.moves.push_back(std::string("given up: ") + error.what());
      }
      let_go();
      bring_back(until, stop);
      // Far from the last call: neighbouring calls are often alike.
      at_ = (at_ + 7) % most_calls;
    } while (BootClock::now() < enough && !stop.stop_requested() && !outcome_.failure);
    over_ = true;
  });
}

std::optional<Quarrel::Outcome> Quarrel::done() {
  if (!over_) return {};
  thread_.join();
  over_ = false;
  return std::move(outcome_);
}

void Quarrel::end() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Quarrel::quarrel(TimePoint limit, const std::stop_token& stop) {
  std::size_t calls = 0;
  bool inside = false;
  // At any call; or at one that changes a mark, because most calls only look whether holds have
  // ended.
  const bool at_change = at_ % 2 == 1;
  const std::size_t at = at_change ? at_ / 2 % most_changes : at_;
  const auto told = [&](bool change) {
    if (inside || (at_change && !change) || calls++ != at) return;
    inside = true;
    second(stop);
  };
  Migration first(std::make_unique<Telling>(opened(old_), told),
                  std::make_unique<Telling>(opened(new_), told));
  outcome_.moves.push_back("the second comes at call " + std::to_string(at) + " of the first" +
                           (at_change ? " that changes a mark" : ""));
  // The second one interrupts it for long: a short limit would be over before its next call.
  tell("first", false, first.roll_back(std::min(limit, BootClock::now() + 5min)));
  if (!inside) second(stop);
  if (stop.stop_requested()) return;
  tell("first", false, first.roll_back(std::min(limit, BootClock::now() + time_of_a_step)));
  take();
}

void Quarrel::second(const std::stop_token& stop) {
  Migration migration(std::make_unique<Telling>(opened(old_), [](bool) {}),
                      std::make_unique<Telling>(opened(new_), [](bool) {}));
  if (!move("second", migration, true, patience_of_the_second, stop)) return;
  take();
  move("second", migration, false, patience_of_the_second, stop);
}

void Quarrel::tell(const std::string& who, bool on, const Result<MigrationPhase>& made) {
  ++moves_;
  outcome_.moves.push_back(who + ": " + (on ? "advance: " : "rollback: ") +
                           (made ? std::string(to_string(*made)) : made.error().message));
}

bool Quarrel::move(const std::string& who, Migration& migration, bool on, Duration patience,
                   const std::stop_token& stop) {
  const TimePoint until = BootClock::now() + patience;
  for (;;) {
    const TimePoint by = BootClock::now() + time_of_a_step;
    const auto made = on ? migration.advance(by) : migration.roll_back(by);
    if (!made && made.error().retryable() && BootClock::now() < until && !stop.stop_requested()) {
      std::this_thread::sleep_for(200ms);
      continue;
    }
    tell(who, on, made);
    return made.ok();
  }
}

// Brings the migration back to where it was. Nobody else steers now.
void Quarrel::bring_back(TimePoint limit, const std::stop_token& stop) {
  std::string why = "there was no time";
  while (!stop.stop_requested() && BootClock::now() < limit) {
    const TimePoint by = BootClock::now() + time_of_a_step;
    auto migration = Migration::open(old_, new_, by);
    const auto status =
        migration ? migration->status(by) : Result<MigrationStatus>(migration.error());
    if (!status) {
      why = status.error().message;
    } else if (!status->certain) {
      why = status->notes.front();
    } else if (status->phase == MigrationPhase::dual_new && !status->switching) {
      return;
    } else {
      const bool on = status->phase < MigrationPhase::dual_new ||
                      (status->phase == MigrationPhase::dual_new && status->switching);
      const auto made = on && status->phase == MigrationPhase::old_only
                            ? migration->start(by)
                            : (on ? migration->advance(by) : migration->roll_back(by));
      if (!made) why = made.error().message;
    }
    std::this_thread::sleep_for(100ms);
  }
  if (!stop.stop_requested()) outcome_.failure = "the two left the migration elsewhere: " + why;
}

void Quarrel::take() {
  if (!program_) {
    program_ = std::make_shared<test::RecordingBackend>(opened(migrate_url(old_, new_)), recorder_);
  }
  test::Client client(program_, "in-dispute");
  test::Ask ask;
  ask.lease = 5min;
  const auto outcome = client.ask({{name_in_dispute, Mode::write}}, ask);
  if (const auto* const grant = outcome ? std::get_if<Grant>(&*outcome) : nullptr) {
    held_.push_back(grant->stamp);
    outcome_.moves.push_back("granted " + std::to_string(grant->stamp.value));
  } else {
    outcome_.moves.push_back("not granted: " + test::describe(outcome));
  }
}

void Quarrel::let_go() {
  const TimePoint until = BootClock::now() + 60s;
  for (const Stamp stamp : std::exchange(held_, {})) {
    while (!program_->release(stamp, "in-dispute", BootClock::now() + 5s) &&
           BootClock::now() < until) {
      std::this_thread::sleep_for(100ms);
    }
  }
  program_.reset();
}

}  // namespace lockset::chaos
