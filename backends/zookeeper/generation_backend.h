// The backend over one generation of a space. If the store has another one, calls fail with
// Errc::misconfigured, and the holds are gone.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/zookeeper/holds.h"
#include "backends/zookeeper/housekeeping.h"
#include "backends/zookeeper/reaper.h"
#include "backends/zookeeper/renew.h"
#include "backends/zookeeper/store.h"
#include "backends/zookeeper/traces.h"
#include "backends/zookeeper/waiting.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

class GenerationBackend final : public Backend {
 public:
  // For an initialised space.
  explicit GenerationBackend(std::unique_ptr<OpenSpace> space);
  ~GenerationBackend() override;

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<std::vector<bool>> release_all(std::span<const HoldRef> holds, std::string_view app,
                                        TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  bool has_changed(WaitTicket& ticket, TimePoint since) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  // As observe; stamps that it draws are at least `least`.
  Result<ObserveOutcome> observe_above(Stamp least, const ObserveRequest& request) {
    return traces_.observe(request, least);
  }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    return observe_above({}, request);
  }
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override {
    return traces_.sweep(unobserved, by);
  }
  Result<std::size_t> sweep(TimePoint by) override;

  // For tests: the open space of this client.
  [[nodiscard]] OpenSpace& space() noexcept { return *space_; }

 private:
  Result<bool> end_hold(Stamp stamp, std::optional<std::string_view> app, TimePoint by);
  Result<bool> end_own(const OwnHolds::Known& own, bool breaks, TimePoint by);
  Result<bool> end_foreign(Stamp stamp, std::optional<std::string_view> app, TimePoint by);
  Result<bool> send_end(const std::string& token, const std::vector<LockRequest>& items,
                        Request end, bool breaks, const std::shared_ptr<Session>& session,
                        TimePoint by);

  const std::unique_ptr<OpenSpace> space_;
  HoldList holds_;
  Waiting waiting_;
  Reaper reaper_;
  Housekeeping housekeeping_;
  Renewals renewals_;
  Traces traces_;
};

}  // namespace lockset::zookeeper
