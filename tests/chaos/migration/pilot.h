// The person who moves a migration on: makes a step, and again if it fails, as long as it takes.
// On a thread of its own, for a step may wait until holds have drained.
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
    MigrationPhase phase{};  // which it led to
    TimePoint from;
    TimePoint to;
    std::size_t tries = 0;
    // What stood in the way, with how many tries it did.
    std::map<std::string, std::size_t> obstacles;
    // Why it was given up; unset: it is done.
    std::optional<std::string> failure;
  };

  // The addresses of the two stores, past all proxies.
  Pilot(std::string from, std::string to, Helm helm);
  Pilot(const Pilot&) = delete;
  Pilot& operator=(const Pilot&) = delete;
  ~Pilot() { end(); }

  // Begins a step from one phase to the next, and gives it up after `limit`. REQUIRES: none is
  // under way.
  void begin(Act act, MigrationPhase from, MigrationPhase to, Duration limit);
  // The step begun last, once it is over; once.
  std::optional<Step> done();
  // Of the step under way, for people: what stands in the way. "" if nothing does.
  [[nodiscard]] std::string obstacle() const;
  // Gives up what is under way.
  void end();

 private:
  void make(Act act, MigrationPhase from, MigrationPhase to, TimePoint limit,
            const std::stop_token& stop);
  // One try: unset if the step is done, otherwise why not.
  std::optional<Error> attempt(Act act, MigrationPhase from, MigrationPhase to);

  const std::string old_;
  const std::string new_;
  const Helm helm_;
  std::optional<Migration> migration_;  // of the thread that makes the step
  mutable std::mutex mutex_;
  Step step_;
  std::string obstacle_;
  std::atomic<bool> over_{false};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace lockset::chaos
