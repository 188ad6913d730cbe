// The backend over one space in MySQL or MariaDB. docs/backends/mysql.md describes how it works.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "backends/mysql/store.h"
#include "backends/mysql/waiting.h"
#include "lockset/backend.h"

namespace lockset::mysql {

class MysqlBackend final : public Backend {
 public:
  explicit MysqlBackend(std::unique_ptr<Store> store);
  ~MysqlBackend() override;

  [[nodiscard]] Store& store() noexcept { return *store_; }

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
  class Ticket;

  // The SQL call that releases a hold on one name, which is known.
  [[nodiscard]] std::string release_text(std::string_view procedure, const HoldRef& hold,
                                         std::string_view app) const;
  Status list_waiters(const InspectQuery& query, TimePoint by, std::vector<WaiterInfo>& waiters);
  // Sets one element of `ended` per hold.
  Status release_some(std::span<const HoldRef> holds, std::string_view app, TimePoint by,
                      std::span<char> ended);
  Result<AcquireOutcome> granted(const AcquireRequest& request, const Reply& answer,
                                 std::uint32_t collisions);
  AcquireOutcome busy(const Reply& answer, std::uint32_t collisions, TimePoint by);
  AcquireOutcome changed(const Reply& answer, TimePoint by);
  // Null if the client can't wait in the line.
  std::shared_ptr<WaitTicket> wait_with(std::shared_ptr<Ticket> ticket, TimePoint by);
  // Tells these listeners, "name,name", that waiters of theirs were woken. The change that woke
  // them is committed.
  void wake(std::string_view listeners, TimePoint by);
  // As the procedures answer: 2 if the hold may have been lost with another server.
  Result<std::int64_t> end_hold(const std::string& call, TimePoint by);
  // Ends a hold so that it is not registered again afterwards.
  Result<bool> release_noted(const HoldRef& hold, std::string_view app, TimePoint by);
  // For how long nothing is granted; begins that time if the space was lost.
  Result<Duration> quarantine_left(TimePoint by, Lane lane = Lane::common);
  // `what` does not happen while it lasts.
  Error quarantine(Duration left, std::string_view what) const;
  // A registration that this client sent may still arrive: an end of its holds is noted.
  [[nodiscard]] bool notes_ends() const noexcept { return BootClock::now() < notes_until_.load(); }
  Status collect_names(TimePoint by);

  const std::unique_ptr<Store> store_;
  std::mutex sweep_mutex_;
  std::int64_t sweep_from_ = 0;  // where the next sweep continues
  std::string collect_from_;     // the same for names
  std::atomic<TimePoint> notes_until_ = TimePoint::min();
  Parking parking_;
  server::Listener listener_;  // uses the members above
};

}  // namespace lockset::mysql
