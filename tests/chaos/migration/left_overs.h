// Processes with the configuration of another phase: started too early or too late, or stopped
// while the migration continued. Each has to be refused as misconfigured, and gets no grant then.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/chaos/migration/pair_store.h"
#include "tests/chaos/process.h"
#include "tests/chaos/workers.h"
#include "tests/support/recorder.h"

namespace lockset::chaos {

// For the main thread.
class LeftOvers {
 public:
  // The name of each begins with this.
  static constexpr std::string_view name_start = "left-over-";

  // `log`: the log of the process that sends them signals. All outlive this.
  LeftOvers(PairStore& stores, Workers& workers, test::Recorder& log)
      : stores_(stores), workers_(workers), log_(log) {}
  LeftOvers(const LeftOvers&) = delete;
  LeftOvers& operator=(const LeftOvers&) = delete;
  ~LeftOvers();

  // Starts a process that has to be refused.
  void start_refused(Way way);
  // Starts a process that works until fall_asleep(); none if the store can't tolerate it.
  void start_sleeper(Way way);
  // Stops all that work.
  void fall_asleep();
  // Continues one stopped process, once all its earlier grants have run out; it has to be refused.
  void wake(Way way);

  // True if all that had to be refused were. Checks them.
  bool judged();
  // What is wrong with one: it got a grant, it ended in another way, or it does not end.
  [[nodiscard]] std::optional<std::string> trouble() const { return trouble_; }

  [[nodiscard]] std::size_t refused() const noexcept { return refused_; }
  [[nodiscard]] std::size_t refused_after_sleep() const noexcept { return refused_after_sleep_; }
  // The configuration of each process that was started here, by name.
  [[nodiscard]] const std::map<std::string, Way>& ways() const noexcept { return ways_; }

 private:
  enum class State : std::uint8_t { works, sleeps, is_to_wake, has_to_be_refused };
  struct One {
    std::string name;
    Way way{};
    State state{};
    bool slept = false;
    TimePoint since;  // of its present state
    std::unique_ptr<Process> process;
  };
  void start(Way way, State state);
  void wake_if_due(One& one);
  void judge(const One& one, int code);
  void fail(const One& one, const std::string& what);

  PairStore& stores_;
  Workers& workers_;
  test::Recorder& log_;
  std::vector<One> all_;
  std::map<std::string, Way> ways_;
  std::size_t refused_ = 0;
  std::size_t refused_after_sleep_ = 0;
  std::optional<std::string> trouble_;
};

}  // namespace lockset::chaos
