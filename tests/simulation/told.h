// What the store told a process, so that the process's conclusions can be checked.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "lockset/backend.h"
#include "lockset/forwarding_backend.h"
#include "tests/simulation/truth.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

// Semantics 10 in this program's own implementation: until when a hold is valid if the request that
// confirmed it was sent then.
TimePoint promise(TimePoint sent, Duration lease);

// What a process was told, and what it told its callers.
struct Told {
  // Until when a hold is valid, by all answers so far.
  std::map<Stamp, TimePoint> promised;
  // Only by answers that were asked for before the store lost its state.
  std::map<Stamp, TimePoint> promised_before;
  // With reclaim: the hold on the application, with which all others end.
  Token app_token;
  Stamp app;
  // The attempts of the acquire under way on each fiber that may have taken something.
  struct Attempt {
    TimePoint sent;
    TimePoint answered;
    Stamp stamp;  // 0: in doubt
    Token token{};
  };
  std::map<Fiber*, std::vector<Attempt>> attempts;
  std::map<Fiber*, Busy> busy;
  // Those that renew a hold themselves at this moment.
  std::set<Fiber*> renewing;
  // Grants that their callers have; released ones, and how often each was renewed since.
  std::set<Stamp> known;
  std::map<Stamp, int> over;
  // The holds that their callers want released.
  std::set<Stamp> let_go;
  // The holds that the process asked the store to release.
  std::set<Stamp> given_back;
  // The store said that it has no such hold: when that was last asked.
  std::map<Stamp, TimePoint> gone;
  // Released, but the caller was told that this is not confirmed: by when.
  std::map<Stamp, TimePoint> unconfirmed;
  // Whether a renewal came back before the store's clock was stepped, and whether one did after.
  bool renewed_before_step = false;
  bool renewed_after_step = false;
  bool told_of_step = false;
  Stamp highest;

  // Whether the store said so, and has not gone back since.
  [[nodiscard]] bool is_gone(Stamp stamp, TimePoint lost_state) const {
    const auto at = gone.find(stamp);
    return at != gone.end() && (lost_state == TimePoint::max() || at->second > lost_state);
  }
  // Whether it is valid by an answer from a store that has forgotten it since.
  [[nodiscard]] bool promised_before_loss(Stamp stamp, TimePoint lost_state, TimePoint now) const {
    const auto at = promised_before.find(stamp);
    return lost_state != TimePoint::max() && at != promised_before.end() && now < at->second;
  }
  // Until when valid() may be true, by all answers.
  [[nodiscard]] TimePoint until(Stamp stamp) const {
    const auto own = promised.find(stamp);
    if (own == promised.end()) return {};
    const auto with = promised.find(app);
    return with == promised.end() ? own->second : std::min(own->second, with->second);
  }
};

// Sits between the core and its store, notes what passes, and records renewals.
class Noting final : public ForwardingBackend {
 public:
  // All references but `inner` must outlive it.
  Noting(std::unique_ptr<Backend> inner, World& world, Truth& truth, Process& process, Told& told)
      : ForwardingBackend(std::move(inner)),
        world_(world),
        truth_(truth),
        process_(process),
        told_(told) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;

 private:
  void app_renewed(TimePoint sent);
  void promised(Stamp stamp, TimePoint sent, Duration lease);

  World& world_;
  Truth& truth_;
  Process& process_;
  Told& told_;
};

}  // namespace lockset::simulation
