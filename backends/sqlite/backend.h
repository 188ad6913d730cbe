// The backend over one lock database. docs/backends/sqlite.md describes how it works.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/sqlite/acquire.h"
#include "backends/sqlite/store.h"
#include "lockset/backend.h"

namespace lockset::sqlite {

class SqliteBackend final : public Backend {
 public:
  explicit SqliteBackend(std::unique_ptr<Store> store) : store_(std::move(store)) {}

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
  Result<std::size_t> sweep(TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override;

 private:
  AcquireOutcome crowd(const AcquireRequest& request, std::shared_ptr<Ticket> ticket);
  Result<bool> end_hold(Stamp stamp, std::optional<std::string_view> app, TimePoint by);

  std::unique_ptr<Store> store_;
  std::mutex sweep_mutex_;
  std::int64_t sweep_from_ = 0;  // where the next sweep continues
};

}  // namespace lockset::sqlite
