// A backend behind a bad network: the decorator of all tests with faults.
//
//   fail_before  nothing reaches the store; Errc::unavailable.
//   lose_reply   the store applies it, the answer is lost: Errc::indeterminate
//                (Errc::unavailable for a call that only reads).
//   delay        the caller gives up, and the request is still on its way. It is
//                answered like lose_reply, at once so that no test waits for it. It
//                reaches the store with deliver_late(), or on its own before a later
//                call if deliver_by_itself(true). For a call that only reads, and
//                for await_change, the same as lose_reply.
//   duplicate    the store gets it twice; the caller gets the second answer.
//
// Faults come by script (the next call of a kind suffers the fault) or at random (seeded rates). A
// scripted fault has priority.
//
// Thread-safety: as every backend.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "lockset/backend.h"
#include "lockset/forwarding_backend.h"

namespace lockset::test {

enum class Call : std::uint8_t {
  try_acquire,
  resolve,
  renew,
  release,
  break_hold,
  await_change,
  inspect,
  load_config,
  change_config,
  reclaim,
  sweep,
  observe,
};

enum class Fault : std::uint8_t { none, fail_before, lose_reply, delay, duplicate };

// The probability of each fault per call; other calls succeed. The sum is at most 1.
struct FaultRates {
  double fail_before = 0;
  double lose_reply = 0;
  double delay = 0;
  double duplicate = 0;
};

class FaultyBackend final : public ForwardingBackend {
 public:
  FaultyBackend(std::shared_ptr<Backend> inner, std::uint64_t seed);

  void set_rates(const FaultRates& rates);             // for all kinds of calls
  void set_rates(Call call, const FaultRates& rates);  // for one kind
  // Applies to the next call of this kind that no earlier script is waiting for.
  void script(Call call, Fault fault);

  // Delivers the delayed requests to the store, in the order in which they came. Returns their
  // number.
  std::size_t deliver_late();
  void deliver_by_itself(bool on);

  [[nodiscard]] std::size_t calls(Call call) const;
  [[nodiscard]] std::size_t injected(Fault fault) const;
  // The seed and the faults so far: for SCOPED_TRACE or a failure message.
  [[nodiscard]] std::string describe() const;

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;

 private:
  static constexpr std::size_t call_kinds = 12;

  Fault next_fault(Call call);
  void postpone(std::function<void()> request);
  template <class Apply, class Later>
  auto changing(Call call, Apply apply, Later later) -> decltype(apply());
  template <class Apply>
  auto reading(Call call, Apply apply) -> decltype(apply());

  mutable std::mutex mutex_;
  const std::uint64_t seed_;
  std::mt19937_64 dice_;
  std::array<FaultRates, call_kinds> rates_;
  std::map<Call, std::deque<Fault>> scripts_;
  std::map<Call, std::size_t> calls_;
  std::map<Fault, std::size_t> injected_;
  std::vector<std::function<void()>> late_;
  bool deliver_by_itself_ = false;
};

}  // namespace lockset::test
