// The backend over a space with strategy=session: a hold is a set of user-level locks (GET_LOCK),
// which the server frees itself when the client is gone. docs/backends/mysql.md, "Sessions", says
// what that gives and what it takes away; ADR 0066 says why it is done so.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/mysql/backend.h"
#include "backends/mysql/session.h"
#include "backends/mysql/store.h"
#include "backends/server/session_slots.h"
#include "core/machine.h"
#include "lockset/backend.h"

namespace lockset::mysql {

using server::SessionHold;
using server::Slot;
using server::Slots;

// When to wake another client's main connection. That may be at work already, and a wake-up ends
// what it does: it must get the time to do it.
class Nudge {
 public:
  // True at first, and every now and then.
  [[nodiscard]] bool due() {
    const TimePoint now = BootClock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(300);
    return true;
  }
  // It does not answer: it stands still, or is cut off.
  [[nodiscard]] bool in_vain() const { return BootClock::now() - began_ > std::chrono::seconds(2); }

 private:
  const TimePoint began_ = BootClock::now();
  TimePoint next_ = began_;
};

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

  // --- session_state.cpp ---
  // What holds as long as the lock of the token is held: the configuration, and how a value of the
  // server's counter becomes a stamp.
  struct Settled {
    std::string token;
    std::int64_t version = 0;
    std::int64_t offset = 0;
    std::int64_t most = 0;  // no stamp may be greater before the floor is raised
    int readers = 0;        // sessions with lower numbers may be readers
    bool alive = false;     // when it was read
  };
  using SettledPtr = std::shared_ptr<const Settled>;
  struct Needs {
    std::int64_t least = 0;  // of the next stamp
    int readers = 0;
  };
  // As this client knows it.
  SettledPtr settled();
  // As it stands in the store.
  Result<SettledPtr> load_settled(TimePoint by);
  // Loads it, and has it settled anew unless it meets these needs.
  Result<SettledPtr> settle(const Needs& needs, TimePoint by);
  // Makes the keeper of the present token look at it, or end.
  void wake_keeper(bool end, TimePoint by);
  // Until nobody may rely any more on what was settled before a change.
  Status await_keeper(TimePoint by);
  // Gives this session a number that is settled as a reader's.
  Result<SettledPtr> number_session(Session& session, SettledPtr now, TimePoint by);
  // The stamp for this value of the counter. Unset: settle anew, and draw again.
  Result<std::optional<Stamp>> stamp_from(const Settled& now, std::int64_t counter, Stamp least,
                                          TimePoint by);

  // --- session_waiting.cpp ---
  Result<AcquireOutcome> ask(const AcquireRequest& request, const std::vector<LockKey>& keys,
                             std::shared_ptr<Ticket> ticket);
  Result<AcquireOutcome> busy(const AcquireRequest& request, const LockKey& key,
                              std::shared_ptr<Ticket> ticket);
  bool wait_in_spare_session(Ticket& ticket, const LockKey& key, TimePoint by);
  void begin_wait(Ticket& ticket, const LockKey& key, TimePoint by);
  void stop_waiting(Ticket& ticket, TimePoint by);

  // --- session_questions.cpp ---
  // Opens the connection over which this client is asked. Unless it is there.
  Status connect_main(TimePoint by);
  void watch();
  // The part of it that has the main connection. Sets when to look again. False: it failed.
  bool tend_main(TimePoint& until);
  // What the main connection answered when it had waited.
  bool answer_main(const Reply& news);
  bool settle_on_main(TimePoint by);
  bool give_token_up(TimePoint by);
  bool list(std::int64_t answered, const std::vector<std::int64_t>& ended, TimePoint by);
  // `holds`: null if nobody has asked for them.
  bool say_answered(std::int64_t answered, const std::vector<std::int64_t>& ended,
                    const std::string* holds, TimePoint by);
  void drop_main();
  // The user-level lock of this hold's item.
  [[nodiscard]] std::string lock_of(const SessionHold& hold, const LockRequest& item) const;
  // Puts the request. Its number.
  Result<std::int64_t> put(const std::string& call, Sent sent, TimePoint by);
  struct Answers {
    bool ended = false;  // one of them ended a hold for it
    bool all = false;    // have answered
    // A lock of the hold that is to be ended, if its client stands still.
    std::string silent;
  };
  // Waits until all clients have answered, but not for long.
  Result<Answers> answers_to(std::int64_t request, TimePoint by);
  Result<bool> end_elsewhere(const std::string& question, bool forced, TimePoint by);
  void wake_clients(std::string_view names, TimePoint by);

  // Calls that are the same with every strategy.
  MysqlBackend common_;
  Store& store_;
  const SessionStatement acquire_;
  const std::string ping_;
  LockNames names_;  // constant once the space is open
  const std::shared_ptr<Slots> slots_;
  // The server's calendar less this machine's BootClock, at the last grant.
  std::atomic<std::int64_t> clock_offset_us_{0};

  std::mutex settled_mutex_;
  std::condition_variable settled_changed_;
  SettledPtr settled_;   // guarded by settled_mutex_
  bool wanted_ = false;  // the watcher has to settle it; guarded by settled_mutex_

  std::timed_mutex main_mutex_;
  // Guarded by main_mutex_; used by the watcher once it is there.
  std::unique_ptr<Session> main_;
  std::string client_;  // its name; guarded by settled_mutex_
  std::atomic<bool> connected_{false};
  std::atomic<bool> ending_{false};
  Thread watcher_;  // guarded by main_mutex_
  // The watcher's own.
  static constexpr Duration parks_at_most = std::chrono::seconds(10);
  std::atomic<bool> parked_{false};  // read by others
  TimePoint parked_at_{};
  bool look_at_once_ = false;
  std::string kept_;  // the token, if this client is its keeper
  std::string seen_token_;
  std::int64_t answered_ = 0;  // the last request
  TimePoint list_at_ = TimePoint::max();
};

}  // namespace lockset::mysql
