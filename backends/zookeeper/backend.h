// The backend over one space in a ZooKeeper ensemble. docs/backends/zookeeper.md describes how it
// works.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "backends/zookeeper/generation_backend.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

// Works in one generation of the space as long as the store has that one. A space that was wiped
// and made anew has another generation: then this opens it, and drops everything that it knew and
// held in the old one, whose holds were removed with their nodes.
class ZookeeperBackend final : public Backend {
 public:
  explicit ZookeeperBackend(std::unique_ptr<OpenSpace> space);

  [[nodiscard]] Traits traits() const override { return current()->traits(); }
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
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  using Generation = std::shared_ptr<GenerationBackend>;

  [[nodiscard]] Generation current() const;
  // Repeats the call in the store's present generation, if that is another one.
  template <class Call>
  auto in_generation(TimePoint by, const Call& call);
  // True: there is a generation other than `seen` now.
  Result<bool> move_on(const Generation& seen, TimePoint by);
  void saw(Stamp stamp) noexcept;

  mutable std::mutex mutex_;
  Generation current_;
  std::timed_mutex moving_;
  // Over all generations. This client's stamps go up, whatever happens to the store.
  std::atomic<std::int64_t> greatest_stamp_ = 0;
};

}  // namespace lockset::zookeeper
