// Simulated time and simulated processes. A process runs entirely on fibers of one real thread, and
// only one fiber runs at a time, until it waits: so every repetition of a run is the same.
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
  std::uint32_t actor = 0;  // its client's decisions apply
  Random chance;            // for the core: jitter, tokens
  std::size_t log = 0;      // its index in World::history
  bool dead = false;
  std::stop_source killed;  // ends the waits of a dead process
  // Stopped until then; `stopped` continues first.
  TimePoint stopped_until{};
  Fiber* stopped = nullptr;
  std::uint64_t ops = 0;
  // How often something went wrong that the process can notice.
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
  std::uint64_t wait_ = 0;  // the number of the present wait
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

  // The running world; the core's clock, threads and sleep use it (machine.cpp). Null: none.
  static World* running() noexcept;

  [[nodiscard]] TimePoint now() const noexcept { return now_; }
  [[nodiscard]] Schedule& schedule() noexcept { return schedule_; }
  void at(TimePoint when, std::function<void()> what);
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Runs until nothing is scheduled any more. False if it would not end.
  bool run();

  Process& add_process(std::string name, std::uint32_t actor);
  Fiber& spawn(Process& process, std::function<void()> run);
  void kill(Process& process);
  // How likely a process stops at a reading of its clock, and for how long at most.
  void set_pauses(double share, Duration most) {
    pause_share_ = share;
    longest_pause_ = most;
  }
  // Whether a child can detect that it is one.
  void set_fork_guard(bool guards) noexcept { guards_forks_ = guards; }
  [[nodiscard]] bool guards_forks() const noexcept { return guards_forks_; }
  // From now on nothing goes wrong any more.
  void calm_down() noexcept { calm_ = true; }
  [[nodiscard]] bool calm() const noexcept { return calm_; }

  // --- for code on a fiber ---
  [[nodiscard]] Fiber* current() const noexcept { return current_; }
  // Waits until then, or until woken.
  void wait(TimePoint until);
  void wake(Fiber& fiber);
  void join(Fiber& fiber);
  // For a thread that was about to wait and does not: one that never waits is reported.
  void not_waiting();
  // The clock as the fiber reads it; the whole process may be stopped meanwhile.
  TimePoint read_clock();

  // --- what happened ---
  history::History history;
  void record(Process& process, history::What what);
  void record(history::What what);  // about the whole run
  // Reports a broken promise that no history shows.
  void complain(const std::string& rule, const std::string& story);
  struct Complaint {
    std::string rule;
    std::string story;
  };
  [[nodiscard]] const std::vector<Complaint>& complaints() const noexcept { return complaints_; }
  // How often each event happened, to see that it does happen.
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
