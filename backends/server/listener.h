// Receives the wake-ups that a server sends to this client's waiters, over a separate connection
// with a separate thread, from the first busy answer on.
//
// It is only a hint: polling makes up for what is missed while there is no connection.
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

namespace lockset::server {

// Thread-safe.
class Listener {
 private:
  struct Shared;

 public:
  // Where the wake-ups of one waiting acquire arrive. May outlive the listener.
  class Subscription {
   public:
    explicit Subscription(std::shared_ptr<Shared> shared);
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    ~Subscription();

    // Unique among all subscriptions that the listener ever had.
    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
    // How many wake-ups have arrived.
    [[nodiscard]] std::uint64_t wakes() const;
    // sleep() would return at once.
    [[nodiscard]] bool is_over(std::uint64_t seen, std::uint64_t session) const;
    // Sleeps until `until`, a stop, a wake-up after the first `seen` ones, or a change of the
    // connection since `session` (see Listener::session).
    void sleep(std::uint64_t seen, std::uint64_t session, TimePoint until,
               const std::stop_token& stop);

   private:
    friend class Listener;
    const std::shared_ptr<Shared> shared_;
    const std::uint64_t number_;
    std::condition_variable_any changed_;
    std::uint64_t wakes_ = 0;  // guarded by the shared mutex
  };

  // The life of one connection: connects, subscribes, calls connected(), then wake() for each
  // arrival, and returns when the connection has failed or the interrupt is set. Runs on the
  // listener's thread, again and again with pauses; an exception counts as a failure.
  using Listen = std::function<void(Listener&)>;

  explicit Listener(Listen listen);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;
  ~Listener();

  // Identifies this listener among all clients of the store: 32 hexadecimal digits.
  [[nodiscard]] const std::string& name() const noexcept;
  std::shared_ptr<Subscription> subscribe();
  // Identifies the listening connection: everything that is sent after this call returned arrives,
  // or the number changes. 0: none.
  [[nodiscard]] std::uint64_t session() const;
  // Begins to listen, unless it does already, and waits until it listens. False if that fails
  // before `by`; then it continues to try in the background.
  bool start(TimePoint by);

  // For Listen.
  void connected();
  void wake(std::uint64_t subscription);
  void wake_all();
  [[nodiscard]] const Interrupt& interrupt() const noexcept { return interrupt_; }

 private:
  void run();
  void set_session(std::uint64_t session);

  const Listen listen_;
  const std::shared_ptr<Shared> shared_;
  std::uint64_t sessions_ = 0;  // used by the thread
  Interrupt interrupt_;
  std::mutex thread_mutex_;
  Thread thread_;
};

}  // namespace lockset::server
