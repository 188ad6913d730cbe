// The backend over a space with strategy=session: a hold is a set of session-level advisory locks,
// which the server frees itself when the client is gone. docs/backends/postgresql.md, "Sessions",
// says what that gives and what it takes away; ADR 0065 says why it is done so.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/postgresql/backend.h"
#include "backends/postgresql/session.h"
#include "backends/postgresql/session_line.h"
#include "backends/postgresql/store.h"
#include "backends/server/session_slots.h"
#include "core/machine.h"
#include "lockset/backend.h"

namespace lockset::postgresql {

using server::SessionHold;
using server::Slot;
using server::Slots;

class SessionBackend final : public Backend {
 public:
  explicit SessionBackend(std::unique_ptr<Store> store);
  // Connects what the first acquire needs, so that it takes no longer than others.
  Status begin(TimePoint by);
  ~SessionBackend() override;

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
  bool has_changed(WaitTicket& ticket, TimePoint since) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override { return common_.load_config(by); }
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;
  void watch_losses(std::function<void(Stamp)> lost) override;

 private:
  class Ticket;

  Result<std::unique_ptr<server::Carrier>> open_session(TimePoint by);
  static Session& session_of(Slot& slot) { return static_cast<Session&>(*slot.session); }
  [[nodiscard]] Error read_only() const;

  // --- session_waiting.cpp ---
  Result<AcquireOutcome> ask(const AcquireRequest& request, const std::vector<LockKey>& keys,
                             std::shared_ptr<Ticket> ticket);
  // As far as it is known; this client's own holds are.
  struct InTheWay {
    Stamp stamp;
    Mode mode = Mode::write;
    std::string label;
  };
  Result<AcquireOutcome> busy(const AcquireRequest& request, const LockKey& key, InTheWay holder,
                              std::shared_ptr<Ticket> ticket);
  // Unset: no starving waiter stands before this attempt.
  std::optional<AcquireOutcome> behind_line(const AcquireRequest& request,
                                            const std::vector<LockKey>& keys,
                                            std::shared_ptr<Ticket>& ticket);
  bool wait_in_spare_session(Ticket& ticket, const LockKey& key, TimePoint by);
  void begin_wait(Ticket& ticket, const LockKey& key, TimePoint by);
  void stop_waiting(Ticket& ticket, TimePoint by);

  // --- session_questions.cpp ---
  // Opens the connection over which this client answers questions. Unless it is there.
  Status connect_main(TimePoint by);
  void watch();
  // Reads what others ask, and answers. False: the connection failed.
  bool answer(TimePoint by);
  static std::int64_t boot_us(TimePoint at) {
    return std::chrono::duration_cast<std::chrono::microseconds>(at.time_since_epoch()).count();
  }
  // Takes the place in the line for a waiter of this client, or gives it back. False: the
  // connection failed.
  bool tend_line(TimePoint by);
  bool publish(std::int64_t answered, const std::vector<std::int64_t>& ended, TimePoint by);
  // Waits until all clients have answered, but not for long. True: one of them ended a hold for it.
  Result<bool> answers_to(std::int64_t request, TimePoint by, bool& all);
  Result<bool> end_elsewhere(const Statement& question, Stamp stamp, const std::string* app,
                             TimePoint by);
  template <class... Args>
  Result<pqxx::result> common_call(const Statement& statement, TimePoint by, const Args&... args) {
    CallFailure failure;
    std::uint32_t collisions = 0;
    return store_.call(Lane::common, statement, by, failure, collisions, args...);
  }

  // Calls that are the same with every strategy.
  PostgresqlBackend common_;
  Store& store_;
  const Statement ask_, break_, answers_, force_, cancel_, clock_;
  const SessionStatement acquire_, wait_, wait_shared_, ping_, register_, publish_, pass_,
      try_line_, notify_;
  const LockKey line_key_;
  const std::shared_ptr<Slots> slots_;
  const std::shared_ptr<SessionLine> line_ = std::make_shared<SessionLine>();
  // The server's calendar less this machine's BootClock, at the last grant.
  std::atomic<std::int64_t> clock_offset_us_{0};

  std::timed_mutex main_mutex_;
  std::unique_ptr<Session> main_;  // guarded by main_mutex_; used by the watcher once it is there
  std::int64_t client_ = 0;        // its number; guarded by main_mutex_
  std::atomic<bool> connected_{false};
  std::atomic<bool> ending_{false};
  Thread watcher_;  // guarded by main_mutex_
};

}  // namespace lockset::postgresql
