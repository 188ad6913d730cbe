// A store with two steps, for statements under test: take a set of names, and release it.
// Everything is a write with one permit, and nothing expires.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lockset/backend.h"

namespace lockset::mutants {

// Each client has its own connection.
class SmallBackend : public Backend {
 public:
  [[nodiscard]] Traits traits() const override { return {}; }
  // If one of the steps below throws, the answer is Errc::indeterminate.
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint) override { return SpaceConfig{}; }

  // The store can't do more: Errc::unsupported.
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
  // Sorted, no name twice. Returns the stamp, or 0 for busy.
  virtual std::int64_t take(const Names& names, Duration lease) = 0;
  virtual bool give_back(const Names& names, std::int64_t stamp) = 0;

 private:
  std::map<Stamp, Names> taken_;
};

}  // namespace lockset::mutants
