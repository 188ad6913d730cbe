// Keeps holds alive and tells when they die: one thread that talks to the store
// (the renewer), and one that never does (the watchdog), so that a hanging store
// delays no bad news. Semantics 10.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/alarm.h"
#include "core/chores.h"
#include "core/clock_watch.h"
#include "core/config_cache.h"
#include "core/hold_state.h"
#include "core/machine.h"
#include "lockset/backend.h"
#include "lockset/locks.h"
#include "lockset/observer.h"

namespace lockset {

// Thread-safe. `backend`, `owner` and `config` must outlive it.
class Keeper {
 public:
  struct Settings {
    Duration io_timeout{};
    Duration refresh_config{};
    std::shared_ptr<Observer> observer;
  };

  Keeper(Backend& backend, const Owner& owner, ConfigCache& config, Settings settings);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // stops

  // Starts the threads if they don't run yet. Errc::unavailable if they can't be had.
  Status start();
  // Ends the threads; waits for a call to the store that is under way. Not from a
  // callback of lost(), which runs on one of them.
  void stop();

  void add(const std::shared_ptr<HoldState>& hold);
  // The hold on the application id, whose loss ends all others.
  void set_app_hold(std::shared_ptr<HoldState> hold);
  [[nodiscard]] std::shared_ptr<HoldState> find(Stamp stamp) const;
  // Keeps it no more. Null if it was not kept.
  std::shared_ptr<HoldState> remove(Stamp stamp);
  std::vector<std::shared_ptr<HoldState>> remove_all();

  // One renewal, now, on the calling thread.
  Status renew_now(HoldState& hold);

  // Has the renewer tidy up until `until`.
  void tidy_later(std::variant<Token, Stamp> what, TimePoint until);

  // Takes a configuration over and draws the consequences.
  void take_config(SpaceConfig config);

  // Has lost() fire from the watchdog.
  void announce(const std::shared_ptr<HoldState>& hold);

  void tell(const Event& event) const noexcept;

  // The store's clock was read between these two moments, for a hold with this lease. Tells of a
  // step since the reading before, if it is beyond the lease's margin.
  void clock_read(TimePoint sent, TimePoint received, std::int64_t store_time_us, Duration lease);

 private:
  using Holds = std::vector<std::shared_ptr<HoldState>>;

  // When a thread will look again by itself. Those who add something earlier ring.
  struct Sleep {
    Alarm alarm;
    TimePoint until = TimePoint::max();
    bool busy_since = false;  // something was added since the last look
  };

  void renewer();
  void watchdog();
  void ring_if_earlier(Sleep* sleep, TimePoint at);
  TimePoint next_look(Sleep& sleep, TimePoint soonest, TimePoint now);
  Holds take_due(TimePoint now, TimePoint& next);
  void renew(const Holds& due);
  Status renew_chunk(std::span<const std::shared_ptr<HoldState>> holds);
  void do_chore(const Chore& chore);
  void refresh(TimePoint now);

  Backend& backend_;
  const Owner& owner_;
  ConfigCache& config_;
  const Settings settings_;

  mutable std::mutex mutex_;
  std::unordered_map<Stamp, std::shared_ptr<HoldState>> holds_;
  std::shared_ptr<HoldState> app_hold_;
  Holds losses_;  // found by others, to be announced by the watchdog
  Chores chores_;
  std::unique_ptr<Sleep> renewer_sleep_;
  std::unique_ptr<Sleep> watchdog_sleep_;
  bool stopping_ = false;

  // The renewer's own.
  TimePoint next_refresh_{};
  TimePoint next_sweep_{};

  std::mutex clock_mutex_;
  ClockWatch clock_watch_;

  Thread renewer_;
  Thread watchdog_;
};

}  // namespace lockset
