// A lock space during a migration, as programs use it: takes each hold in the old store, in both or
// in the new one, as the marks in the stores say at that moment. It knows two backends, and nothing
// about their kinds. ADR 0035 describes the protocol.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "backends/migrate/given_back.h"
#include "backends/migrate/parts.h"
#include "backends/migrate/shadow.h"
#include "backends/migrate/side.h"
#include "backends/migrate/store_time.h"
#include "backends/migrate/view.h"
#include "lockset/backend.h"

namespace lockset::migrate {

// Opens the stores that the phase needs; asks the new one first, within half of the time.
// Errc::misconfigured if the two don't belong together, Errc::unsupported if locks can't move
// between them.
Result<std::unique_ptr<Backend>> open_migrate_backend(OpenStore from, OpenStore to, TimePoint by);

class MigrateBackend final : public Backend {
 public:
  MigrateBackend(OpenStore from, OpenStore to);

  // Opens what is needed and reads the configurations. Call it once, before everything else.
  Status open(TimePoint by);

  [[nodiscard]] Traits traits() const override { return traits_; }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  bool has_changed(WaitTicket& ticket, TimePoint since) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override;

 private:
  using Now = std::shared_ptr<const View>;
  using End = std::function<Result<bool>(Backend& store, const HoldRef& part)>;
  enum class Which : std::uint8_t { old_store, new_store };
  struct Renewing;  // one call of renew(), holds.cpp
  struct RenewingHalf;

  // --- configuration.cpp ---
  [[nodiscard]] Now now() const;
  // Takes over what was read from one store, or from both. Null if it does not fit together yet.
  Now learn(std::optional<SpaceConfig> of_old, std::optional<SpaceConfig> of_new);
  // Reads what the present phase depends on, until it fits together.
  Result<Now> refresh(TimePoint by);
  Result<Now> read_both(TimePoint by);
  void set_epochs(View& view) const;
  // Ends a switch that the process which began it does not end, if this program may: that needs an
  // operator's rights.
  void set_back_if_stuck(const View& view, TimePoint by);
  // The error for acquires during a switch.
  [[nodiscard]] Error being_switched() const;

  // The view for one request. Errc::unavailable during a switch.
  Result<Now> view_to_ask_by(TimePoint by);

  // --- observe.cpp ---
  Result<ObserveOutcome> observe_in(Which which, const ObserveRequest& request, const View& view);
  // The first broken condition of the request, by the new store. It is a look: the granting step
  // decides.
  std::optional<Changed> changed_in_new(const AcquireRequest& request, const View& view);

  // --- acquire.cpp ---
  Result<AcquireOutcome> take_in_one(const AcquireRequest& request, const View& view, Which store);
  Result<AcquireOutcome> take_in_both(const AcquireRequest& request, const View& view);
  Result<AcquireOutcome> give_back(const AcquireRequest& request, Backend& old_store, Stamp in_old,
                                   const View& view, Result<AcquireOutcome> outcome);
  // Names the hold in the way by the stamp that its owner knows.
  void name_holder(Busy& busy, Which found_in, const View& view, TimePoint by);
  // `old_base`: the old store's stamp base at the attempt.
  Grant join(MigrationPhase phase, const Grant& of_old, const Grant& of_new, Stamp old_base) const;

  // --- doubts ---
  struct Doubt {
    MigrationPhase phase{};
    Stamp old_base;  // of the old store, at the attempt
    Stamp in_old;    // what the old store had granted by then; 0: the new one was not asked
    // A request to give back a part of it may still be under way: it is no hold any more.
    bool given_up = false;
    TimePoint until;
  };
  void doubt(const AcquireRequest& request, const View& view, Stamp in_old, bool given_up = false);
  void give_up(const Token& token, MigrationPhase phase);
  // Unset: nothing is in doubt.
  [[nodiscard]] std::optional<Doubt> doubt_of(const Token& token) const;
  void settle(const Token& token);
  // Ends a part of an attempt, without breaking it, which would need an operator's rights.
  static Status take_back(Backend& store, const HoldRef& part, TimePoint by);

  // --- holds.cpp ---
  Result<bool> end(const HoldRef& whole, TimePoint by, const End& how);
  // The part of a hold that stands in this store.
  static HoldRef part_in(Which store, const HoldRef& whole, const Parts& parts);
  // Also for a hold that another process took; unset: there is no such hold.
  Result<std::optional<Parts>> parts_of(Stamp stamp, TimePoint by);
  Result<std::optional<Parts>> look_for(Stamp stamp, TimePoint by);
  Result<std::optional<Parts>> look_for_after_way_back(Stamp stamp, TimePoint by);
  // The parts in the new store, if it shows them in time; none if it does not answer.
  std::vector<HoldInfo> new_parts_of(const std::vector<HoldInfo>& of_old, TimePoint by);
  [[nodiscard]] Owner owner_in(Which store, const Owner& owner, const HoldTag& tag) const;

  [[nodiscard]] Side& side(Which store) noexcept { return store == Which::old_store ? old_ : new_; }

  Side old_;
  Side new_;
  Traits traits_;
  Shadow shadow_{new_};
  GivenBack given_back_;
  PartsBook parts_;
  StoreTime store_time_;

  mutable std::mutex mutex_;
  std::optional<SpaceConfig> old_config_;
  std::optional<SpaceConfig> new_config_;
  Now now_;  // null: the known configurations do not fit together
  std::int64_t last_version_ = 0;
  // When the old store was first found between two phases, with this config version.
  std::optional<std::pair<std::int64_t, TimePoint>> switching_since_;
  std::string not_set_back_;  // why this program can't end it; empty: it can, or has not tried
  // A dual attempt got no answer from the old store. That store may be gone for good, because only
  // the new one counts by now; so the new one is asked before the next attempt.
  std::atomic<bool> old_is_silent_ = false;
  // Attempts with unknown outcome, and the phase in which they were made.
  std::map<Token, Doubt> doubts_;
};

}  // namespace lockset::migrate
