// Keeps holds alive and tells when they die, by three threads. The renewer renews, and
// asks the store for nothing else: no slow answer to anything else makes a renewal late.
// The housekeeper does the rest of what is to be asked in the background: it tidies up
// after lost replies, looks at the configuration, sweeps (housekeeping.cpp). The watchdog
// never asks the store, so that a hanging one delays no bad news. Semantics 10.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/alarm.h"
#include "core/chores.h"
#include "core/clock_watch.h"
#include "core/config_cache.h"
#include "core/hold_state.h"
#include "core/lease_clock.h"
#include "core/machine.h"
#include "lockset/backend.h"
#include "lockset/locks.h"
#include "lockset/observer.h"

namespace lockset {

// Whether the store does not know any more that this instance took its application over: it was
// restored from a backup that is older, or wiped.
bool forgets_epoch(const SpaceConfig& config, const Owner& owner);

// Thread-safe. `backend`, `owner` and `config` must outlive it.
class Keeper {
 public:
  struct Settings {
    Duration io_timeout{};
    Duration refresh_config{};
    std::shared_ptr<Observer> observer;
    LeaseClock clock{};  // of the holds
    Duration sweep_every = std::chrono::seconds(30);
  };

  Keeper(Backend& backend, const Owner& owner, ConfigCache& config, Settings settings);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // stops

  // Starts the threads if they don't run yet. Errc::unavailable if they can't be had.
  Status start() { return running_.load() ? Status() : start_threads(); }
  // Ends the threads; waits for a call to the store that is under way. Not from a
  // callback of lost(), which runs on one of them.
  void stop();

  // `reading`: of the store's clock, with the grant. (The renewals read it, too; a step before the
  // first of them shall be noticed.)
  void add(const std::shared_ptr<HoldState>& hold, const ClockReading& reading);
  // The hold on the application id, whose loss ends all others.
  void set_app_hold(std::shared_ptr<HoldState> hold);
  [[nodiscard]] std::shared_ptr<HoldState> find(Stamp stamp) const;
  // Keeps it no more. Null if it was not kept.
  std::shared_ptr<HoldState> remove(Stamp stamp);
  std::vector<std::shared_ptr<HoldState>> remove_all();

  // One renewal, now, on the calling thread.
  Status renew_now(HoldState& hold);

  // Has the housekeeper tidy up until `until`.
  void tidy_later(std::variant<Token, Stamp> what, TimePoint until);

  // Takes a configuration over and draws the consequences.
  void take_config(SpaceConfig config);

  // Has lost() fire from the watchdog.
  void announce(const std::shared_ptr<HoldState>& hold);

  void tell(const Event& event) const noexcept;

 private:
  using Holds = std::vector<std::shared_ptr<HoldState>>;

  // When a thread will look again by itself. Those who add something earlier ring.
  struct Sleep {
    Alarm alarm;
    TimePoint until = TimePoint::max();
    bool busy_since = false;  // something was added since the last look
  };

  Status start_threads();
  void renewer();
  void housekeeper();
  void watchdog();
  void ring_if_earlier(Sleep* sleep, TimePoint at);
  // Until a moment of the holds' clock.
  void sleep_on(Sleep& sleep, TimePoint until) const;
  TimePoint next_look(Sleep& sleep, TimePoint soonest, TimePoint now);
  Holds take_due(TimePoint now, TimePoint& next);
  void renew(const Holds& due);
  Status renew_chunk(std::span<const std::shared_ptr<HoldState>> holds);
  // REQUIRES of these two: mutex_.
  void plan_housekeeping(TimePoint now);
  // The housekeeper's next piece of work, and nothing where none is due.
  std::function<void()> next_work(TimePoint now);
  void do_chore(const Chore& chore);
  void refresh();
  void sweep();
  // Of the store's clock, as ClockWatch found it.
  void tell_of_step(std::optional<Duration> step) const;

  Backend& backend_;
  const Owner& owner_;
  ConfigCache& config_;
  const Settings settings_;

  mutable std::mutex mutex_;
  std::unordered_map<Stamp, std::shared_ptr<HoldState>> holds_;
  std::shared_ptr<HoldState> app_hold_;
  Holds losses_;  // found by others, to be announced by the watchdog
  Chores chores_;
  TimePoint next_refresh_{};
  TimePoint next_sweep_{};
  std::unique_ptr<Sleep> renewer_sleep_;
  std::unique_ptr<Sleep> housekeeper_sleep_;
  std::unique_ptr<Sleep> watchdog_sleep_;
  std::atomic<bool> stopping_{false};  // set under the mutex
  ClockWatch clock_watch_;

  Thread renewer_;
  Thread housekeeper_;
  Thread watchdog_;
  std::atomic<bool> running_{false};  // all of them
};

}  // namespace lockset
