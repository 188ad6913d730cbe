// Processes with the configuration of another phase: started too early or too late, or idle while
// the migration went on. Each has to be refused as misconfigured, and is granted nothing then.
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
  // Begins the name of each.
  static constexpr std::string_view name_start = "left-over-";

  // `log`: that of whoever sends them signals. All outlive this.
  LeftOvers(PairStore& stores, Workers& workers, test::Recorder& log)
      : stores_(stores), workers_(workers), log_(log) {}
  LeftOvers(const LeftOvers&) = delete;
  LeftOvers& operator=(const LeftOvers&) = delete;
  ~LeftOvers();

  // Starts one that has to be refused.
  void start_refused(Way way);
  // Starts one that works until fall_asleep(); none where the store does not bear it.
  void start_sleeper(Way way);
  // All that work are stopped.
  void fall_asleep();
  // One that sleeps is continued once all that it was granted before has run out, and has to be
  // refused.
  void wake(Way way);

  // All that had to be refused were. Looks at them.
  bool judged();
  // What is wrong with one: it was granted something, it ended otherwise, it does not end.
  [[nodiscard]] std::optional<std::string> trouble() const { return trouble_; }

  [[nodiscard]] std::size_t refused() const noexcept { return refused_; }
  [[nodiscard]] std::size_t refused_after_sleep() const noexcept { return refused_after_sleep_; }
  // How each process that was started here is configured, by name.
  [[nodiscard]] const std::map<std::string, Way>& ways() const noexcept { return ways_; }

 private:
  enum class State : std::uint8_t { works, sleeps, is_to_wake, has_to_be_refused };
  struct One {
    std::string name;
    Way way{};
    State state{};
    bool slept = false;
    TimePoint since;  // of its state
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
