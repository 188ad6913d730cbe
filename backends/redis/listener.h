// Hears the wake-ups that the server publishes to this client's waiters (SUBSCRIBE), over a
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

#include "backends/redis/store.h"
#include "lockset/clock.h"

namespace lockset::redis {

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

    // Its name in the store's line: "CLIENT:NUMBER".
    [[nodiscard]] const std::string& waiter() const noexcept { return waiter_; }
    // How many wake-ups have arrived.
    [[nodiscard]] std::uint64_t wakes() const;
    // Sleeps until `until`, a stop, a wake-up beyond the `seen` first ones, or a change of
    // the connection since `session` (see Listener::session).
    void sleep(std::uint64_t seen, std::uint64_t session, TimePoint until, std::stop_token stop);

   private:
    friend class Listener;
    const std::shared_ptr<Shared> shared_;
    const std::uint64_t number_;
    const std::string waiter_;
    std::condition_variable_any changed_;
    std::uint64_t wakes_ = 0;  // guarded by the shared mutex
  };

  explicit Listener(Store& store);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

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
  void hear(const Reply& message);
  void set_session(std::uint64_t session);

  Store& store_;
  const std::shared_ptr<Shared> shared_;
  std::uint64_t sessions_ = 0;  // the thread's
  const int interrupt_;         // readable once it is to end
  std::mutex thread_mutex_;
  std::thread thread_;
};

}  // namespace lockset::redis
