// Keeps holds alive and reports when they end, with three threads. The renewer renews, and asks the
// store for nothing else, so no slow answer to another call delays a renewal. The housekeeper makes
// all other background calls: it tidies up after lost replies, reads the configuration, sweeps
// (housekeeping.cpp). The watchdog never asks the store, so a hanging store delays no report of a
// loss. Semantics 10.
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

// True if the store no longer knows that this instance took its application over: it was wiped, or
// restored from an older backup.
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
    // Traces live for days, so they are looked at less often.
    Duration sweep_traces_every = std::chrono::hours(1);
  };

  Keeper(Backend& backend, const Owner& owner, ConfigCache& config, Settings settings);
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();  // stops

  // Starts the threads if they don't run yet. Errc::unavailable if the system has none left.
  Status start() { return running_.load() ? Status() : start_threads(); }
  // Ends the threads; waits for a call to the store that is under way. Do not call it from a
  // callback of lost(), which runs on one of them.
  void stop();

  // `reading`: the store's clock, read with the grant. (Renewals read it, too; this one makes a
  // step before the first renewal visible.)
  void add(const std::shared_ptr<HoldState>& hold, const ClockReading& reading);
  // The hold on the application id; its loss ends all others.
  void set_app_hold(std::shared_ptr<HoldState> hold);
  [[nodiscard]] std::shared_ptr<HoldState> find(Stamp stamp) const;
  // Stops keeping this hold. Null if it was not kept.
  std::shared_ptr<HoldState> remove(Stamp stamp);
  std::vector<std::shared_ptr<HoldState>> remove_all();

  // Renews once, now, on the calling thread.
  Status renew_now(HoldState& hold);

  // Makes the housekeeper tidy up, until `until`. `replaces`: as in Chore.
  void tidy_later(KnownHold hold, TimePoint until, Stamp replaces = {});

  // Tidies up once more what no lease ends. REQUIRES: stop() has returned.
  void tidy_at_last(TimePoint by);

  // A conversion has ended this hold in the store, and its grant is about to be given back. Nobody
  // else may hold its names while it counts as valid here, so it is lost first. Unlike a denial,
  // this also counts while the hold is being converted.
  void lose_converted(Stamp stamp);

  // Takes over a configuration and acts on it.
  void take_config(SpaceConfig config);

  // Makes the watchdog fire lost().
  void announce(const std::shared_ptr<HoldState>& hold);

  void tell(const Event& event) const noexcept;

 private:
  using Holds = std::vector<std::shared_ptr<HoldState>>;

  // When a thread will look again without being rung. Adding something earlier must ring it.
  struct Sleep {
    Alarm alarm;
    TimePoint until = TimePoint::max();
    bool busy_since = false;  // something was added since the last look
  };

  // The store has told that this hold has ended.
  void ended_in_store(Stamp stamp);
  Status start_threads();
  void renewer();
  void housekeeper();
  void watchdog();
  void ring_if_earlier(Sleep* sleep, TimePoint at);
  // Sleeps until a moment of the holds' clock.
  void sleep_on(Sleep& sleep, TimePoint until) const;
  TimePoint next_look(Sleep& sleep, TimePoint soonest, TimePoint now);
  Holds take_due(TimePoint now, TimePoint& next);
  void renew(const Holds& due);
  Status renew_chunk(std::span<const std::shared_ptr<HoldState>> holds);
  // A part of it: the store may have forgotten these, so they are registered again.
  Status register_chunk(std::span<const std::shared_ptr<HoldState>> holds);
  void tell_of_renewal(const HoldState& hold, Event::Kind kind, Duration took,
                       std::string_view detail) const;
  // It was renewed in the store, but given up here: nobody else would release it.
  void give_back(const HoldState& hold, Duration lease);
  // REQUIRES of these two: mutex_ is held.
  void plan_housekeeping(TimePoint now);
  // The housekeeper's next piece of work; empty if none is due.
  std::function<void()> next_work(TimePoint now);
  void do_chore(const Chore& chore, TimePoint by);
  void refresh();
  void sweep();
  // Reports a step of the store's clock that ClockWatch found.
  void tell_losses(const Holds& lost) const;
  void tell_of_step(std::optional<Duration> step) const;

  Backend& backend_;
  const Owner& owner_;
  ConfigCache& config_;
  const Settings settings_;
  const bool observing_;

  mutable std::mutex mutex_;
  std::unordered_map<Stamp, std::shared_ptr<HoldState>> holds_;
  std::shared_ptr<HoldState> app_hold_;
  Holds losses_;  // losses that others found; the watchdog announces them
  Chores chores_;
  TimePoint next_refresh_{};
  TimePoint next_sweep_{};
  TimePoint next_trace_sweep_{};  // only the housekeeper uses it, once it runs
  std::unique_ptr<Sleep> renewer_sleep_;
  std::unique_ptr<Sleep> housekeeper_sleep_;
  std::unique_ptr<Sleep> watchdog_sleep_;
  std::atomic<bool> stopping_{false};  // set under the mutex
  ClockWatch clock_watch_;

  Thread renewer_;
  Thread housekeeper_;
  Thread watchdog_;
  std::atomic<bool> running_{false};  // all threads run
};

}  // namespace lockset
