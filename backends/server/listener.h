// Hears the wake-ups that a server sends to this client's waiters, over a connection of its
// own with a thread of its own, from the first busy answer on.
//
// A hint, no more: what is missed while there is no connection, polling makes up for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "backends/server/interrupt.h"
#include "core/machine.h"
#include "lockset/clock.h"

namespace lockset::connections {

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

    // Its own among all places that the listener ever had.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    // How many wake-ups have arrived.
    [[nodiscard]] std::uint64_t wakes() const;
    // Sleeps until `until`, a stop, a wake-up beyond the `seen` first ones, or a change of
    // the connection since `session` (see Listener::session).
    void sleep(std::uint64_t seen, std::uint64_t session, TimePoint until, std::stop_token stop);

   private:
    friend class Listener;
    const std::shared_ptr<Shared> shared_;
    const std::uint64_t number_;
    std::condition_variable_any changed_;
    std::uint64_t wakes_ = 0;  // guarded by the shared mutex
  };

  // One connection's life: connects, subscribes, calls connected(), then wake() for what
  // arrives, and returns when the connection has failed or the interrupt is set. Runs on the
  // listener's thread, again and again with pauses; what it throws counts as a failure.
  using Listen = std::function<void(Listener&)>;

  explicit Listener(Listen listen);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  // Of this listener among all clients of the store: 32 hexadecimal digits.
  [[nodiscard]] const std::string& name() const noexcept;
  std::shared_ptr<Place> new_place();
  // Names the connection that hears now: what is sent later than this answer arrives, or
  // the number changes. 0: none.
  [[nodiscard]] std::uint64_t session() const;
  // Begins to listen, if that has not been done; waits until it is so. False if it can't
  // be had by `by`; it is tried again in the background.
  bool start(TimePoint by);

  // For Listen.
  void connected();
  void wake(std::uint64_t place);
  void wake_all();
  [[nodiscard]] const Interrupt& interrupt() const noexcept { return interrupt_; }

 private:
  void run();
  void set_session(std::uint64_t session);

  const Listen listen_;
  const std::shared_ptr<Shared> shared_;
  std::uint64_t sessions_ = 0;  // the thread's
  Interrupt interrupt_;
  std::mutex thread_mutex_;
  Thread thread_;
};

}  // namespace lockset::connections
