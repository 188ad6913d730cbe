// Simulated time and simulated processes. All of a process runs on fibers of one real thread, and
// only one runs at a time, until it waits: so a run is the same whenever it is repeated.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/random.h"
#include "history/event.h"
#include "lockset/clock.h"
#include "tests/simulation/schedule.h"

namespace lockset::simulation {

class World;
class Fiber;

struct Process {
  std::string name;
  std::uint32_t actor = 0;  // whose decisions apply: that of its client
  Random chance;            // the core's own: jitter, tokens
  std::size_t log = 0;      // in World::history
  bool dead = false;
  std::stop_source killed;  // ends what a dead process waits for
  // Stands still until then; `stopped` goes on first.
  TimePoint stopped_until{};
  Fiber* stopped = nullptr;
  std::uint64_t ops = 0;
  // How often something was wrong that the process can notice.
  std::uint64_t troubles = 0;
};

// One thread of a process.
class Fiber {
 public:
  Fiber(Process& process, std::function<void()> run) : process_(process), run_(std::move(run)) {}
  [[nodiscard]] Process& process() const noexcept { return process_; }
  [[nodiscard]] bool done() const noexcept { return done_; }

 private:
  friend class World;
  Process& process_;
  std::function<void()> run_;
  boost::context::fiber inside_;
  boost::context::fiber outside_;
  std::uint64_t wait_ = 0;  // the number of the wait under way
  bool waiting_ = false;
  bool done_ = false;
  std::vector<Fiber*> joining_;
};

class World {
 public:
  explicit World(Schedule& schedule);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  // The one that runs; the core's clock, threads and sleep are its (machine.cpp). Null: none.
  static World* running() noexcept;

  [[nodiscard]] TimePoint now() const noexcept { return now_; }
  [[nodiscard]] Schedule& schedule() noexcept { return schedule_; }
  void at(TimePoint when, std::function<void()> what);
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Until nothing is planned any more. False if it would not end.
  bool run();

  Process& add_process(std::string name, std::uint32_t actor);
  Fiber& spawn(Process& process, std::function<void()> run);
  void kill(Process& process);
  // How likely a process stands still at one reading of its clock, and for how long.
  void set_pauses(double share, Duration most) {
    pause_share_ = share;
    longest_pause_ = most;
  }
  // Whether a child can tell that it is one.
  void set_fork_guard(bool guards) noexcept { guards_forks_ = guards; }
  [[nodiscard]] bool guards_forks() const noexcept { return guards_forks_; }
  // From now on nothing goes wrong any more.
  void calm_down() noexcept { calm_ = true; }
  [[nodiscard]] bool calm() const noexcept { return calm_; }

  // --- for what runs on a fiber ---
  [[nodiscard]] Fiber* current() const noexcept { return current_; }
  // Waits until then, or until woken.
  void wait(TimePoint until);
  void wake(Fiber& fiber);
  void join(Fiber& fiber);
  // For a thread that would not wait although it was about to: one that never does stands out.
  void not_waiting();
  // The clock as the fiber reads it; the whole process may stand still meanwhile.
  TimePoint read_clock();

  // --- what happened ---
  history::History history;
  void record(Process& process, history::What what);
  void record(history::What what);  // about all of it
  // A promise was broken that no history shows.
  void complain(const std::string& rule, const std::string& story);
  struct Complaint {
    std::string rule;
    std::string story;
  };
  [[nodiscard]] const std::vector<Complaint>& complaints() const noexcept { return complaints_; }
  // How often a thing happened, so that it is seen whether it does.
  std::map<std::string, std::uint64_t> counts;

 private:
  struct Plan {
    TimePoint when;
    std::uint64_t order = 0;
    std::function<void()> what;
    bool operator<(const Plan& other) const {
      return std::tie(other.when, other.order) < std::tie(when, order);
    }
  };
  void resume(Fiber& fiber, std::uint64_t wait);
  void enter(Fiber& fiber);

  Schedule& schedule_;
  TimePoint now_{std::chrono::hours(1)};
  std::uint64_t planned_ = 0;
  std::uint64_t steps_ = 0;
  std::priority_queue<Plan> plans_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  Fiber* current_ = nullptr;
  double pause_share_ = 0;
  Duration longest_pause_{};
  bool calm_ = false;
  bool guards_forks_ = true;
  TimePoint spins_at_;
  std::uint64_t spins_ = 0;
  std::vector<Complaint> complaints_;
};

}  // namespace lockset::simulation
