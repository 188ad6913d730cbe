// Two people steer one migration and don't know of each other. The first goes back. Between two of
// the first one's calls to the stores, the second goes on, and back again. Then the first continues
// from there, with what it saw before. A program holds a name all the time.
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

// Has its own thread, as a step does.
class Quarrel {
 public:
  // The addresses of the two stores, without proxies. `log`: a new file of the history.
  Quarrel(std::string from, std::string to, std::uint64_t seed, const std::string& log);
  Quarrel(const Quarrel&) = delete;
  Quarrel& operator=(const Quarrel&) = delete;
  ~Quarrel() { end(); }

  struct Outcome {
    // The moves of both, in order, for people: "second: advance: new-only".
    std::vector<std::string> moves;
    // Why the migration is not back where it was; unset: it is.
    std::optional<std::string> failure;
  };
  // Runs quarrels one after the other for `time`, at least one; gives up after `limit`. REQUIRES:
  // no quarrel is under way, the migration is in dual-new, and all clients follow it.
  void begin(Duration time, Duration limit);
  // Returns the outcome once, when it is over.
  std::optional<Outcome> done();
  void end();
  // The number of moves of both, in all quarrels.
  [[nodiscard]] std::size_t moves() const noexcept { return moves_; }

 private:
  void quarrel(TimePoint limit, const std::stop_token& stop);
  void second(const std::stop_token& stop);
  void bring_back(TimePoint limit, const std::stop_token& stop);
  // One move, repeated for a while if it is refused only temporarily.
  bool move(const std::string& who, Migration& migration, bool on, Duration patience,
            const std::stop_token& stop);
  void tell(const std::string& who, bool on, const Result<MigrationPhase>& made);
  // Acts as a program: its grant is recorded, and kept until let_go().
  void take();
  void let_go();

  const std::string old_;
  const std::string new_;
  std::size_t at_;  // the call of the first one at which the second steps in
  const std::shared_ptr<test::Recorder> recorder_;
  std::shared_ptr<Backend> program_;
  std::vector<Stamp> held_;
  Outcome outcome_;
  std::atomic<std::size_t> moves_{0};
  std::atomic<bool> over_{false};
  std::jthread thread_;  // last: it uses all members above
};

}  // namespace lockset::chaos
