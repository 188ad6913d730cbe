// The backend over one space of a PostgreSQL server. docs/backends/postgresql.md describes how it
// works; the functions of the space (statements/) keep the rules.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "backends/postgresql/reply.h"
#include "backends/postgresql/store.h"
#include "backends/postgresql/waiting.h"
#include "lockset/backend.h"

namespace lockset::postgresql {

class PostgresqlBackend final : public Backend {
 public:
  explicit PostgresqlBackend(std::unique_ptr<Store> store);
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
  // How an attempt can be woken.
  struct Ears {
    std::shared_ptr<server::Listener::Subscription> subscription;
    std::int64_t waiter = 0;
    std::uint64_t seen = 0;
    std::uint64_t session = 0;
    bool woken = false;
  };
  Result<Ears> ears_for(const AcquireRequest& request, const Ticket* ticket);
  Result<Reply> ask(const AcquireRequest& request, const Ears& ears, std::uint32_t& collisions);
  Result<pqxx::result> convert(const AcquireRequest& request, std::uint32_t& collisions,
                               CallFailure& failure);
  Result<Reply> ask_once(const AcquireRequest& request, const Ears& ears, std::uint32_t& collisions,
                         CallFailure& failure);
  template <class... Args>
  Result<bool> end_hold(const Statement& statement, TimePoint by, const Args&... args);
  Error nonsense(const std::string& where) const;
  // `what` does not happen while it lasts.
  Error quarantine(Duration left, std::string_view what) const;
  // A registration that this client sent may still arrive: an end of its holds is noted.
  [[nodiscard]] bool notes_ends() const noexcept { return BootClock::now() < notes_until_.load(); }

  std::unique_ptr<Store> store_;
  server::Listener listener_;
  std::mutex sweep_mutex_;
  std::int64_t sweep_from_ = 0;  // where the next sweep continues
  std::string sweep_from_name_;
  std::atomic<TimePoint> notes_until_ = TimePoint::min();

  const Statement acquire_, acquire_unchanged_, convert_, know_, resolve_, renew_, reregister_,
      release_, release_all_, break_, end_wait_, inspect_, load_, change_, change_at_, reclaim_,
      sweep_, observe_, sweep_traces_;
};

}  // namespace lockset::postgresql
