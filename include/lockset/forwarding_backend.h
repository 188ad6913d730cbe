// The base of decorators of a backend.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "lockset/backend.h"
#include "lockset/export.h"

namespace lockset LOCKSET_EXPORT {

// Forwards every call to another backend: the base of decorators that change a few calls.
// release_all() calls release(), so overriding release() also changes release_all().
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(std::shared_ptr<Backend> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Traits traits() const override { return inner_->traits(); }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    return inner_->try_acquire(request);
  }
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override {
    return inner_->resolve(attempt, by);
  }
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override {
    return inner_->renew(owner, requests, by);
  }
  Result<ReregisterOutcome> reregister(const Owner& owner, const ReregisterRequest& request,
                                       TimePoint by) override {
    return inner_->reregister(owner, request, by);
  }
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override {
    return inner_->release(hold, app, by);
  }
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override {
    return inner_->break_hold(hold, by);
  }
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override {
    return inner_->await_change(ticket, until, std::move(stop));
  }
  bool has_changed(WaitTicket& ticket, TimePoint since) override {
    return inner_->has_changed(ticket, since);
  }
  void end_wait(WaitTicket& ticket, TimePoint by) override { inner_->end_wait(ticket, by); }
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override {
    return inner_->inspect(query, by);
  }
  Result<SpaceConfig> load_config(TimePoint by) override { return inner_->load_config(by); }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override {
    return inner_->change_config(change, by);
  }
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override {
    return inner_->reclaim(app, epoch, by);
  }
  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    return inner_->observe(request);
  }
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override {
    return inner_->sweep_traces(unobserved, by);
  }
  void watch_losses(std::function<void(Stamp)> lost) override {
    inner_->watch_losses(std::move(lost));
  }
  Result<std::size_t> sweep(TimePoint by) override { return inner_->sweep(by); }

 protected:
  [[nodiscard]] Backend& inner() noexcept { return *inner_; }

 private:
  std::shared_ptr<Backend> inner_;
};

}  // namespace LOCKSET_EXPORT
