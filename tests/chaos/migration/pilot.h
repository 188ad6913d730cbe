// The person who moves a migration on: takes a step, and repeats it until it succeeds. It has its
// own thread, because a step may wait until holds have drained.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "lockset/clock.h"
#include "lockset/migration.h"
#include "tests/chaos/migration/helm.h"
#include "tests/chaos/migration/journey.h"

namespace lockset::chaos {

class Pilot {
 public:
  struct Step {
    Act act{};
    MigrationPhase phase{};  // the phase that it led to
    TimePoint from;
    TimePoint to;
    std::size_t tries = 0;
    // What blocked the step, with the number of tries that it blocked.
    std::map<std::string, std::size_t> obstacles;
    // Why the step was given up; unset: it is done.
    std::optional<std::string> failure;
  };

  // The addresses of the two stores, without proxies.
  Pilot(std::string from, std::string to, Helm helm);
  Pilot(const Pilot&) = delete;
  Pilot& operator=(const Pilot&) = delete;
  ~Pilot() { end(); }

  // Begins a step from one phase to the next, and gives it up after `limit`. REQUIRES: no step is
  // under way.
  void begin(Act act, MigrationPhase from, MigrationPhase to, Duration limit);
  // Returns the last step once, when it is over.
  std::optional<Step> done();
  // What blocks the step under way, for people; "" if nothing does.
  [[nodiscard]] std::string obstacle() const;
  // Gives up the step under way.
  void end();

 private:
  void make(Act act, MigrationPhase from, MigrationPhase to, TimePoint limit,
            const std::stop_token& stop);
  // One try: unset if the step is done, otherwise why not.
  std::optional<Error> attempt(Act act, MigrationPhase from, MigrationPhase to);

  const std::string old_;
  const std::string new_;
  const Helm helm_;
  std::optional<Migration> migration_;  // used only by the thread that takes the step
  mutable std::mutex mutex_;
  Step step_;
  std::string obstacle_;
  std::atomic<bool> over_{false};
  std::jthread thread_;  // last: it uses all members above
};

}  // namespace lockset::chaos
