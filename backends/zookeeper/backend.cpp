#include "backends/zookeeper/backend.h"

#include <algorithm>
#include <utility>

namespace lockset::zookeeper {

ZookeeperBackend::ZookeeperBackend(std::unique_ptr<OpenSpace> space)
    : current_(std::make_shared<GenerationBackend>(std::move(space))) {}

ZookeeperBackend::Generation ZookeeperBackend::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

Result<bool> ZookeeperBackend::move_on(const Generation& seen, TimePoint by) {
  const Duration left = std::max<Duration>(by - BootClock::now(), Duration::zero());
  const std::unique_lock alone(moving_, std::min<Duration>(left, std::chrono::hours(1)));
  if (!alone) return false;
  if (current() != seen) return true;
  OpenSpace& space = seen->space();
  const Result<std::string> now = space.generation_now(by);
  if (!now) return now.error();
  if (*now == space.generation) return false;
  Result<std::unique_ptr<OpenSpace>> opened = OpenSpace::open(space.options, by);
  if (!opened) return opened.error();
  auto next = std::make_shared<GenerationBackend>(*std::move(opened));
  const std::lock_guard lock(mutex_);
  current_ = std::move(next);
  return true;
}

template <class Call>
auto ZookeeperBackend::in_generation(TimePoint by, const Call& call) {
  while (true) {
    const Generation generation = current();
    auto done = call(*generation);
    // A generation that is gone answers so: nothing was applied.
    if (done || done.error().code != Errc::misconfigured) return done;
    const Result<bool> moved = move_on(generation, by);
    if (!moved || !*moved) return done;
  }
}

void ZookeeperBackend::saw(Stamp stamp) noexcept {
  std::int64_t seen = greatest_stamp_;
  while (stamp.value > seen && !greatest_stamp_.compare_exchange_weak(seen, stamp.value)) {
  }
}

Result<AcquireOutcome> ZookeeperBackend::try_acquire(const AcquireRequest& request) {
  AcquireRequest above = request;
  above.min_stamp = std::max(above.min_stamp, Stamp{greatest_stamp_ + 1});
  Result<AcquireOutcome> outcome = in_generation(
      request.by, [&](GenerationBackend& backend) { return backend.try_acquire(above); });
  if (outcome) {
    if (const Grant* grant = std::get_if<Grant>(&*outcome)) saw(grant->stamp);
  }
  return outcome;
}

Result<std::optional<Grant>> ZookeeperBackend::resolve(const HoldRef& attempt, TimePoint by) {
  Result<std::optional<Grant>> found =
      in_generation(by, [&](GenerationBackend& backend) { return backend.resolve(attempt, by); });
  if (found && *found) saw((*found)->stamp);
  return found;
}

Result<RenewReply> ZookeeperBackend::renew(const Owner& owner,
                                           std::span<const RenewRequest> requests, TimePoint by) {
  return in_generation(
      by, [&](GenerationBackend& backend) { return backend.renew(owner, requests, by); });
}

Result<bool> ZookeeperBackend::release(const HoldRef& hold, std::string_view app, TimePoint by) {
  return in_generation(by,
                       [&](GenerationBackend& backend) { return backend.release(hold, app, by); });
}

Result<std::vector<bool>> ZookeeperBackend::release_all(std::span<const HoldRef> holds,
                                                        std::string_view app, TimePoint by) {
  return in_generation(
      by, [&](GenerationBackend& backend) { return backend.release_all(holds, app, by); });
}

Result<bool> ZookeeperBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return in_generation(by,
                       [&](GenerationBackend& backend) { return backend.break_hold(hold, by); });
}

Status ZookeeperBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  return current()->await_change(ticket, until, std::move(stop));
}

bool ZookeeperBackend::has_changed(WaitTicket& ticket, TimePoint since) {
  return current()->has_changed(ticket, since);
}

void ZookeeperBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  current()->end_wait(ticket, by);
}

Result<Inspection> ZookeeperBackend::inspect(const InspectQuery& query, TimePoint by) {
  return in_generation(by, [&](GenerationBackend& backend) { return backend.inspect(query, by); });
}

Result<SpaceConfig> ZookeeperBackend::load_config(TimePoint by) {
  return in_generation(by, [&](GenerationBackend& backend) { return backend.load_config(by); });
}

Result<SpaceConfig> ZookeeperBackend::change_config(const ConfigChange& change, TimePoint by) {
  return in_generation(
      by, [&](GenerationBackend& backend) { return backend.change_config(change, by); });
}

Result<std::size_t> ZookeeperBackend::reclaim(std::string_view app, std::int64_t epoch,
                                              TimePoint by) {
  return in_generation(by,
                       [&](GenerationBackend& backend) { return backend.reclaim(app, epoch, by); });
}

// New traces are above all that this client saw in an earlier generation, as grants are, and grants
// are above all that it observed.
Result<ObserveOutcome> ZookeeperBackend::observe(const ObserveRequest& request) {
  Result<ObserveOutcome> outcome = in_generation(request.by, [&](GenerationBackend& backend) {
    return backend.observe_above(Stamp{greatest_stamp_ + 1}, request);
  });
  if (outcome) {
    if (const auto* traces = std::get_if<std::vector<Trace>>(&*outcome)) {
      for (const Trace& trace : *traces) saw(trace.last_write);
    }
  }
  return outcome;
}

Result<std::size_t> ZookeeperBackend::sweep_traces(Duration unobserved, TimePoint by) {
  return in_generation(
      by, [&](GenerationBackend& backend) { return backend.sweep_traces(unobserved, by); });
}

Result<std::size_t> ZookeeperBackend::sweep(TimePoint by) {
  return in_generation(by, [&](GenerationBackend& backend) { return backend.sweep(by); });
}

}  // namespace lockset::zookeeper
