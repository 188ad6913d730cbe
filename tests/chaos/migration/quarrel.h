// Two people who steer one migration and don't know of each other. The first goes back; between two
// of his calls to the stores the second goes on, and back again; then the first goes on where he
// was, with what he had seen before. Somebody holds a name through all of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lockset/clock.h"
#include "lockset/migration.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

// On a thread of its own, as a step is.
class Quarrel {
 public:
  // The addresses of the two stores, past all proxies. `log`: a new file of the history.
  Quarrel(std::string from, std::string to, std::uint64_t seed, const std::string& log);
  Quarrel(const Quarrel&) = delete;
  Quarrel& operator=(const Quarrel&) = delete;
  ~Quarrel() { end(); }

  struct Outcome {
    // What each did, in order, for people: "second: advance: new-only".
    std::vector<std::string> moves;
    // Why the migration is not where it was; unset: it is.
    std::optional<std::string> failure;
  };
  // One quarrel after the other for so long, one at least; given up after `limit`. REQUIRES: none
  // is under way, the migration stands in dual-new, and all who lock follow it.
  void begin(Duration time, Duration limit);
  // Once it is over; once.
  std::optional<Outcome> done();
  void end();
  // How many moves were made by both, in all quarrels.
  [[nodiscard]] std::size_t moves() const noexcept { return moves_; }

 private:
  void quarrel(TimePoint limit, const std::stop_token& stop);
  void second(const std::stop_token& stop);
  void bring_back(TimePoint limit, const std::stop_token& stop);
  // One move, repeated for a while if it is refused for now.
  bool move(const std::string& who, Migration& migration, bool on, Duration patience,
            const std::stop_token& stop);
  void tell(const std::string& who, bool on, const Result<MigrationPhase>& made);
  // A program's: what it is granted is recorded, and kept until let_go().
  void take();
  void let_go();

  const std::string old_;
  const std::string new_;
  std::size_t at_;  // the call of the first at which the second comes
  const std::shared_ptr<test::Recorder> recorder_;
  std::shared_ptr<Backend> program_;
  std::vector<Stamp> held_;
  Outcome outcome_;
  std::atomic<std::size_t> moves_{0};
  std::atomic<bool> over_{false};
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace lockset::chaos
