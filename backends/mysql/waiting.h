// Wakes the waiters of this client. Neither server can notify a client (ADR 0016), so one thread
// asks for all of them: one statement for any number of waiters, less often the longer nothing
// happens.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "lockset/backend.h"

namespace lockset::mysql {

// What blocks a waiter.
struct Obstacle {
  std::string name;
  Mode wanted = Mode::write;
  std::vector<std::int64_t> holders;  // some of the name's holders, at least one
  std::int64_t config_version = 0;
};

// Thread-safe.
class Poller {
 private:
  struct Group;
  struct Shared;

 public:
  // One waiter, from its first busy answer on.
  class Ticket final : public WaitTicket {
   public:
    explicit Ticket(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    ~Ticket() override;

   private:
    friend class Poller;
    const std::shared_ptr<Shared> shared_;
    // The shared mutex guards all of these.
    std::optional<std::pair<std::string, Mode>> key_;
    std::uint64_t order_ = 0;
    bool woken_ = false;
    std::condition_variable_any changed_;
  };

  // The present state of the store.
  struct Look {
    std::int64_t config_version = 0;
    std::set<std::int64_t> alive;  // among those asked for
  };
  // Asks the store which of these stamps are live; unset: it could not be asked.
  using Ask = std::function<std::optional<Look>(const std::vector<std::int64_t>&)>;

  explicit Poller(Ask ask);
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;
  ~Poller();

  // After a busy answer: a new ticket, or `ticket` again; null if no thread can be started.
  std::shared_ptr<Ticket> queue_up(std::shared_ptr<Ticket> ticket, Obstacle obstacle);
  // For this client's own grant: from now on waiters for the name wait for this holder.
  void taken(const std::string& name, Mode mode, Stamp stamp);
  // Sleeps until `until`, a stop, or a change in the store.
  static void sleep(Ticket& ticket, TimePoint until, const std::stop_token& stop);
  static void leave(Ticket& ticket);

 private:
  void run();

  const Ask ask_;
  const std::shared_ptr<Shared> shared_;
  Thread thread_;
};

}  // namespace lockset::mysql
