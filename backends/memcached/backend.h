// The backend over one space of a memcached server. docs/backends/memcached.md describes how it
// works; step.h keeps the rules.
#pragma once

#include <memory>

#include "backends/memcached/store.h"
#include "lockset/backend.h"

namespace lockset::memcached {

class MemcachedBackend final : public Backend {
 public:
  explicit MemcachedBackend(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<ReregisterOutcome> reregister(const Owner& owner, const ReregisterRequest& request,
                                       TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<std::vector<bool>> release_all(std::span<const HoldRef> holds, std::string_view app,
                                        TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  std::unique_ptr<Store> store_;
};

}  // namespace lockset::memcached
