// Tries the new store before anything depends on it: each hold that the old store granted is taken,
// renewed and released there as well, by a thread of its own, behind the caller's back. Counts what
// would have been different, and how long it took, and writes that into the new store as the label
// of a hold on "@shadow:<instance>", where `lockset migrate status` finds it.
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
  // Gives back what it holds, within a second or two.
  ~Shadow();

  // The old store granted this with the stamp. `request` as the core made it.
  void granted(const AcquireRequest& request, Stamp in_old, std::uint32_t migration);
  void renewed(Stamp in_old, Duration lease);
  void ended(Stamp in_old);

 private:
  struct Trial {
    LockSet set;
    Owner owner;
    Duration lease{};
    Stamp in_old;
    std::int64_t new_phase = 0;  // what the new store's configuration has to say
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
    std::optional<Trial> trial;  // of take
    Stamp in_old;
    Duration lease{};  // of renew
  };

  void add(Step step);
  void work();
  void do_step(Step& step);
  void try_again(TimePoint now);
  // Whether it is over: granted, or told apart for good.
  bool try_once(const Trial& trial);
  void renew(Stamp in_old, Duration lease);
  // Whether the store has answered.
  bool end(Stamp in_old);
  // False if the store does not answer.
  bool end_all();
  void report();
  [[nodiscard]] std::string report_text() const;

  Side& store_;
  std::mutex mutex_;
  std::deque<Step> queue_;
  // Whose ends are wanted: those that are queued, tried or held, by their stamps in the old store.
  std::set<Stamp> begun_;
  std::uint64_t skipped_ = 0;
  bool stopping_ = false;
  std::optional<Alarm> bell_;
  Thread thread_;

  // The thread's own.
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
