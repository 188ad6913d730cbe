#include "tests/mutants/small_backend.h"

#include <exception>

namespace lockset::mutants {
namespace {

Error unsupported() { return {Errc::unsupported, "not in so small a store"}; }

}  // namespace

Result<AcquireOutcome> SmallBackend::try_acquire(const AcquireRequest& request) try {
  Names names;
  for (const LockRequest& item : request.set->items()) names.push_back(item.name);
  const Stamp stamp{take(names, request.lease)};
  if (stamp.value != 0) {
    taken_[stamp] = std::move(names);
    Grant grant;
    grant.stamp = stamp;
    grant.lease = request.lease;
    return AcquireOutcome(std::move(grant));
  }
  Busy busy;
  busy.name = names.front();
  return AcquireOutcome(std::move(busy));
} catch (const std::exception& error) {
  return Error{Errc::indeterminate, error.what()};
}

Result<bool> SmallBackend::release(const HoldRef& hold, std::string_view, TimePoint) try {
  const auto taken = taken_.extract(hold.stamp);
  return taken && give_back(taken.mapped(), hold.stamp.value);
} catch (const std::exception& error) {
  return Error{Errc::indeterminate, error.what()};
}

Result<std::optional<Grant>> SmallBackend::resolve(const HoldRef&, TimePoint) {
  return unsupported();
}
Result<RenewReply> SmallBackend::renew(const Owner&, std::span<const RenewRequest>, TimePoint) {
  return unsupported();
}
Result<bool> SmallBackend::break_hold(const HoldRef&, TimePoint) { return unsupported(); }
Status SmallBackend::await_change(WaitTicket&, TimePoint, std::stop_token) { return unsupported(); }
Result<Inspection> SmallBackend::inspect(const InspectQuery&, TimePoint) { return unsupported(); }
Result<SpaceConfig> SmallBackend::change_config(const ConfigChange&, TimePoint) {
  return unsupported();
}
Result<std::size_t> SmallBackend::reclaim(std::string_view, std::int64_t, TimePoint) {
  return unsupported();
}
Result<std::size_t> SmallBackend::sweep(TimePoint) { return unsupported(); }

}  // namespace lockset::mutants
