// The backend over one space in MySQL or MariaDB. docs/backends/mysql.md describes how it works.
#pragma once

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

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<std::vector<bool>> release_all(std::span<const HoldRef> holds, std::string_view app,
                                        TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  // The SQL call that releases a hold on one name, which is known.
  [[nodiscard]] std::string release_one(const HoldRef& hold, std::string_view app) const;
  // Sets one element of `ended` per hold.
  Status release_some(std::span<const HoldRef> holds, std::string_view app, TimePoint by,
                      std::span<char> ended);
  Result<AcquireOutcome> granted(const AcquireRequest& request, const Reply& answer,
                                 std::uint32_t collisions);
  Result<AcquireOutcome> busy(const AcquireRequest& request, const Reply& answer,
                              std::uint32_t collisions);
  Result<bool> end_hold(const std::string& call, Sent sent, TimePoint by);
  Status collect_names(TimePoint by);
  std::optional<Poller::Look> look(const std::vector<std::int64_t>& stamps);

  const std::unique_ptr<Store> store_;
  std::mutex sweep_mutex_;
  std::int64_t sweep_from_ = 0;  // where the next sweep continues
  std::string collect_from_;     // the same for names
  Poller poller_;                // uses the members above
};

}  // namespace lockset::mysql
