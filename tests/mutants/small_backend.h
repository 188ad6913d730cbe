// A store of two steps, for statements that are tried out: take a set of names, and give it
// back. Everything is a write with one permit, and nothing expires.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

// A connection of its own for each client.
class SmallBackend : public Backend {
 public:
  [[nodiscard]] Traits traits() const override { return {}; }
  // What the steps below throw makes the answer Errc::indeterminate.
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint) override { return SpaceConfig{}; }

  // There is no more to it: Errc::unsupported.
  Result<std::optional<Grant>> resolve(const HoldRef&, TimePoint) override;
  Result<RenewReply> renew(const Owner&, std::span<const RenewRequest>, TimePoint) override;
  Result<bool> break_hold(const HoldRef&, TimePoint) override;
  Status await_change(WaitTicket&, TimePoint, std::stop_token) override;
  void end_wait(WaitTicket&, TimePoint) override {}
  Result<Inspection> inspect(const InspectQuery&, TimePoint) override;
  Result<SpaceConfig> change_config(const ConfigChange&, TimePoint) override;
  Result<std::size_t> reclaim(std::string_view, std::int64_t, TimePoint) override;
  Result<std::size_t> sweep(TimePoint) override;

 protected:
  using Names = std::vector<std::string>;
  // Sorted, no name twice. The stamp, or 0 for busy.
  virtual std::int64_t take(const Names& names, Duration lease) = 0;
  virtual bool give_back(const Names& names, std::int64_t stamp) = 0;

 private:
  std::map<Stamp, Names> taken_;
};

}  // namespace lockset::mutants
