// One acquire that a Manager has under way.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "core/acquire_loop.h"
#include "core/manager.h"
#include "core/time_math.h"

namespace lockset {

struct Manager::Call {
  Call(const LockSet& wanted, const Owner& for_owner, Duration with_lease, std::stop_token until,
       const AcquireLoop::Settings& settings, Stamp above, TimePoint called, Random& random)
      : set(wanted),
        owner(for_owner),
        lease(with_lease),
        stop(std::move(until)),
        single_try(settings.single_try),
        last_answer(later(settings.deadline, std::chrono::seconds(1))),
        high_water(above),
        began(called),
        now(called),
        loop(settings, random, [] { return Token::random(); }) {}

  const LockSet& set;
  const Owner& owner;
  const Duration lease;  // no_lease: permanent
  const std::stop_token stop;
  const bool single_try;
  // A hanging store must not keep the caller far beyond its deadline; but the last try at the
  // deadline needs time for its round trip.
  const TimePoint last_answer;
  const Stamp high_water;  // at the beginning
  const TimePoint began;
  TimePoint now;  // when the action under way was decided
  // When the attempt or question under way was sent, by the holds' clock.
  TimePoint sent;
  AcquireLoop loop;
  Token token;  // of the last attempt or question
  std::vector<std::uint32_t> permits;
  std::shared_ptr<WaitTicket> ticket;
  // The last moment for its goodbye to the store's queue. Its place there expires by itself.
  TimePoint goodbye_by = TimePoint::max();
  bool ends_with_process = false;
  std::vector<Expected> condition;
  // The hold that this call converts; null: an ordinary acquire.
  HoldState* replaces = nullptr;
  // The store no longer has it.
  bool replaced_has_ended = false;
  // The configuration for the first attempt, if it was read before.
  std::shared_ptr<const SpaceConfig> known_config;

  TimePoint read_clock() { return now = BootClock::now(); }

  // The lease to ask the store for: a permanent hold begins with a finite one. A hold that is
  // converted may be older than the space's longest lease, as one that is renewed.
  [[nodiscard]] Duration first_lease(const SpaceConfig& config) const {
    if (lease == no_lease) return finite_lease(config);
    return replaces != nullptr ? std::min(lease, config.max_lease) : lease;
  }
};

}  // namespace lockset
