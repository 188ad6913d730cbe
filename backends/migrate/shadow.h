// Tries the new store before anything depends on it: a background thread takes, renews and releases
// there each hold that the old store granted. It counts what would have been different, and how
// long it took, and writes that into the new store as the label of a hold on "@shadow:<instance>",
// where `lockset migrate status` finds it.
//
// Thread-safe. Blocks nobody: what the thread can't keep up with is skipped and counted.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/migrate/side.h"
#include "core/alarm.h"
#include "core/known_hold.h"
#include "core/machine.h"
#include "lockset/backend.h"

namespace lockset::migrate {

class Shadow {
 public:
  // `store` must outlive it.
  explicit Shadow(Side& store) : store_(store) {}
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;
  // Releases its holds, within a second or two.
  ~Shadow();

  // The old store granted this with the stamp. `request` is the core's.
  void granted(const AcquireRequest& request, Stamp in_old, std::uint32_t migration);
  void renewed(Stamp in_old, Duration lease);
  void ended(Stamp in_old);

 private:
  struct Trial {
    LockSet set;
    Owner owner;
    Duration lease{};
    Stamp in_old;
    std::int64_t new_phase = 0;  // from the new store's configuration
    TimePoint since;             // when the old store had granted it
    TimePoint next;              // when to try again
  };
  struct Counts {
    std::uint64_t tried = 0;
    std::uint64_t granted = 0;
    std::uint64_t differences = 0;
    std::uint64_t errors = 0;
    std::uint64_t skipped = 0;
  };
  struct Step {
    enum class Kind : std::uint8_t { take, renew, end } kind;
    std::optional<Trial> trial;  // for take
    Stamp in_old;
    Duration lease{};  // for renew
  };

  void add(Step step);
  void work();
  void do_step(Step& step);
  void try_again(TimePoint now);
  // Whether the trial is over: granted, or certainly different.
  bool try_once(const Trial& trial);
  void renew(Stamp in_old, Duration lease);
  // True if the store has answered.
  bool end(Stamp in_old);
  // False if the store does not answer.
  bool end_all();
  void report();
  [[nodiscard]] std::string report_text() const;

  Side& store_;
  std::mutex mutex_;
  std::deque<Step> queue_;
  // Trials that have to be ended with their holds: those that are queued, tried or held, by their
  // stamps in the old store.
  std::set<Stamp> begun_;
  std::uint64_t skipped_ = 0;
  bool stopping_ = false;
  std::optional<Alarm> bell_;
  Thread thread_;

  // Used only by the thread.
  std::vector<Trial> waiting_;
  std::map<Stamp, KnownHold> holds_;  // by the stamp in the old store
  std::optional<SpaceConfig> config_;
  Counts counts_;
  std::deque<Duration> latencies_;  // the last ones
  std::optional<KnownHold> reported_;
  std::string reported_text_;
  std::optional<Owner> reporter_;
  TimePoint next_report_{};
};

}  // namespace lockset::migrate
