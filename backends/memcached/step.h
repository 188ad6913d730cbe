// One step on the state of a space, at one moment: what docs/semantics.md says, without I/O. What
// it does counts once the state has replaced the one that it was read from.
//
// Expiry is judged by the moment's lower bound, and leases are counted from its upper bound. So no
// client sees a lease end early, whatever it knows of the server's clock.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "backends/memcached/server_time.h"
#include "backends/memcached/state.h"
#include "lockset/backend.h"

namespace lockset::memcached {

// No lease of this store is longer. Whoever makes a space that may have been there before knows
// that all leases of then have ended after this time.
inline constexpr Duration longest_lease = std::chrono::minutes(10);
// Who saw the space within this time knows how long its leases are. Nobody uses what a new, longer
// limit allows before it has passed.
inline constexpr Duration knows = std::chrono::minutes(1);
// Each step carries the whole state, so there have to be few.
inline constexpr std::size_t most_holds = 1000;

class Step {
 public:
  Step(State state, Moment now) : state(std::move(state)), now(std::move(now)) {}

  State state;
  const Moment now;
  bool changed = false;  // the state has to be written

  Result<AcquireOutcome> acquire(const AcquireRequest& request);
  [[nodiscard]] std::optional<Grant> resolve(const Token& token) const;
  RenewReply renew(const Owner& owner, std::span<const RenewRequest> requests);
  ReregisterOutcome reregister(const ReregisterRequest& request);
  // Of this application; unset: of any. True if it ended.
  bool end(const HoldRef& hold, std::optional<std::string_view> app);
  [[nodiscard]] Inspection inspect(const InspectQuery& query) const;
  Result<SpaceConfig> change(const ConfigChange& change);
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch);
  std::size_t sweep();

  // Something may have been lost: nothing is granted until `until_us`, if that is still to come.
  void begin_quarantine(std::int64_t until_us);
  [[nodiscard]] Duration quarantine_left() const;

 private:
  using Hold = std::vector<HoldRecord>::iterator;
  struct OnName;

  [[nodiscard]] bool live(const HoldRecord& hold) const { return hold.end_us > now.lower_us; }
  [[nodiscard]] bool in_quarantine() const { return state.quarantine_us > now.lower_us; }
  [[nodiscard]] Error quarantine() const;
  Hold find_live(Stamp stamp);
  void erase(Hold hold);
  [[nodiscard]] OnName others(const std::string& name, Stamp except) const;
  [[nodiscard]] Grant grant_of(const HoldRecord& hold) const;
  [[nodiscard]] std::optional<Busy> blocker(const AcquireRequest& request) const;
  void put_in(HoldRecord hold);
  void count_end(HoldRecord& hold, Duration lease);
  void limit_leases(Duration before);
  void raise_version(std::int64_t before);
};

}  // namespace lockset::memcached
