// Hears the wake-ups that the server sends to this client's waiters (LISTEN), over a
// connection of its own with a thread of its own, from the first busy answer on.
//
// A hint, no more: what is missed while there is no connection, polling makes up for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "backends/connections/socket_watchdog.h"
#include "backends/postgresql/address.h"
#include "backends/postgresql/connection.h"
#include "lockset/clock.h"

namespace lockset::postgresql {

// Thread-safe.
class Listener {
 private:
  struct Shared;

 public:
  // Where the wake-ups of one waiting acquire arrive. Outlives the listener if need be.
  class Place {
   public:
    explicit Place(std::shared_ptr<Shared> shared);
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    // Its name on the channel: unique there.
    [[nodiscard]] const std::string& ticket() const noexcept { return ticket_; }
    // How many wake-ups have arrived.
    [[nodiscard]] std::uint64_t wakes() const;
    // Sleeps until `until`, a stop, a wake-up beyond the `seen` first ones, or a change of
    // the connection since `session` (see Listener::session).
    void sleep(std::uint64_t seen, std::uint64_t session, TimePoint until, std::stop_token stop);

   private:
    friend class Listener;
    const std::shared_ptr<Shared> shared_;
    const std::string ticket_;
    std::condition_variable_any changed_;
    std::uint64_t wakes_ = 0;  // guarded by the shared mutex
  };

  Listener(const Options& options, connections::SocketWatchdog& watchdog);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  [[nodiscard]] const std::string& channel() const noexcept;
  std::shared_ptr<Place> new_place();
  // Names the connection that hears now: what is sent later than this answer arrives, or
  // the number changes. 0: none.
  [[nodiscard]] std::uint64_t session() const;
  // Begins to listen, if that has not been done; waits until it is so. False if it can't
  // be had by `by`; it is tried again in the background.
  bool start(TimePoint by);

 private:
  void run();
  void listen();
  void set_session(std::uint64_t session);

  const Options& options_;
  connections::SocketWatchdog& watchdog_;
  const std::shared_ptr<Shared> shared_;
  std::uint64_t sessions_ = 0;  // the thread's
  Interrupt interrupt_;         // ends the thread's connecting and sleep
  std::mutex thread_mutex_;
  std::thread thread_;
};

}  // namespace lockset::postgresql
