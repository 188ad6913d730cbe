#include "backends/memcached/backend.h"

#include <algorithm>

#include "core/machine.h"

namespace lockset::memcached {
namespace {

// There is nothing to remember: waiters only try again.
class Ticket final : public WaitTicket {};

}  // namespace

Traits MemcachedBackend::traits() const {
  Traits traits;
  traits.holds_outlive_process = true;
  traits.shared_between_processes = true;
  traits.floors = true;
  traits.converting = true;
  traits.can_migrate = false;
  return traits;
}

Result<AcquireOutcome> MemcachedBackend::try_acquire(const AcquireRequest& request) {
  const Ask ask{.by = request.by, .exact_time = true, .grows = true};
  Result<AcquireOutcome> outcome =
      store_->run<AcquireOutcome>(ask, [&](Step& step) { return step.acquire(request); });
  if (!outcome || !request.will_wait) return outcome;
  if (Busy* const busy = std::get_if<Busy>(&*outcome)) busy->ticket = std::make_shared<Ticket>();
  return outcome;
}

Result<std::optional<Grant>> MemcachedBackend::resolve(const HoldRef& attempt, TimePoint by) {
  using Found = std::optional<Grant>;
  return store_->run<Found>({.by = by, .exact_time = true},
                            [&](Step& step) { return Result<Found>(step.resolve(attempt.token)); });
}

Result<RenewReply> MemcachedBackend::renew(const Owner& owner,
                                           std::span<const RenewRequest> requests, TimePoint by) {
  for (const RenewRequest& request : requests) {
    if (request.permanent) {
      return Error{Errc::unsupported, "memcached keeps no hold without a lease: set one"};
    }
  }
  return store_->run<RenewReply>(
      {.by = by, .lane = Lane::renewal, .exact_time = true},
      [&](Step& step) { return Result<RenewReply>(step.renew(owner, requests)); });
}

Result<ReregisterOutcome> MemcachedBackend::reregister(const Owner& /*owner*/,
                                                       const ReregisterRequest& request,
                                                       TimePoint by) {
  return store_->run<ReregisterOutcome>(
      {.by = by, .lane = Lane::renewal, .exact_time = true},
      [&](Step& step) { return Result<ReregisterOutcome>(step.reregister(request)); });
}

Result<bool> MemcachedBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return store_->run<bool>({.by = by},
                           [&](Step& step) { return Result<bool>(step.end(hold, app)); });
}

Result<std::vector<bool>> MemcachedBackend::release_all(std::span<const HoldRef> holds,
                                                        std::string_view app, TimePoint by) {
  using Ended = std::vector<bool>;
  return store_->run<Ended>({.by = by}, [&](Step& step) {
    Ended ended;
    for (const HoldRef& hold : holds) ended.push_back(step.end(hold, app));
    return Result<Ended>(std::move(ended));
  });
}

Result<bool> MemcachedBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return store_->run<bool>({.by = by},
                           [&](Step& step) { return Result<bool>(step.end(hold, {})); });
}

Status MemcachedBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  if (dynamic_cast<Ticket*>(&ticket) == nullptr) return foreign_ticket();
  sleep_until(until, stop);
  return {};
}

void MemcachedBackend::end_wait(WaitTicket& /*ticket*/, TimePoint /*by*/) {}

Result<Inspection> MemcachedBackend::inspect(const InspectQuery& query, TimePoint by) {
  return store_->run<Inspection>(
      {.by = by}, [&](Step& step) { return Result<Inspection>(step.inspect(query)); });
}

Result<SpaceConfig> MemcachedBackend::load_config(TimePoint by) {
  return store_->run<SpaceConfig>(
      {.by = by}, [&](Step& step) { return Result<SpaceConfig>(step.state.config); });
}

Result<SpaceConfig> MemcachedBackend::change_config(const ConfigChange& change, TimePoint by) {
  return store_->run<SpaceConfig>({.by = by, .exact_time = true, .grows = true},
                                  [&](Step& step) { return step.change(change); });
}

Result<std::size_t> MemcachedBackend::reclaim(std::string_view app, std::int64_t epoch,
                                              TimePoint by) {
  return store_->run<std::size_t>({.by = by}, [&](Step& step) { return step.reclaim(app, epoch); });
}

Result<std::size_t> MemcachedBackend::sweep(TimePoint by) {
  // In the background, so that no grant has to wait for it.
  if (Status status = store_->refresh_time(by); !status) return status.error();
  return store_->run<std::size_t>({.by = by},
                                  [&](Step& step) { return Result<std::size_t>(step.sweep()); });
}

}  // namespace lockset::memcached
