// The connection for a call: one from a pool, or the listening one.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "backends/postgresql/connection.h"
#include "backends/server/pool.h"
#include "lockset/clock.h"

namespace lockset::postgresql {

// The connection that receives wake-ups. Calls use it too, one at a time, so that a waiting process
// needs no other one. Thread-safe.
class Ear {
 public:
  // The connection listens. The thread that has the turn uses it, until close().
  explicit Ear(Connection& connection) : connection_(connection) {}
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  // Only if no call has it now, and the connection looks sound.
  bool try_turn();
  // By `by`; also false if the listening is over.
  bool take_turn(TimePoint by);
  // REQUIRES: the turn. Delivers what was notified meanwhile.
  void end_turn();
  // For the listening thread: delivers what has been notified. False: the listening is over.
  bool hear();
  // The connection failed. REQUIRES: the turn.
  void broken() noexcept;

  // REQUIRES: the turn.
  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  // Waits until nobody has the turn; nobody gets it after that. False if the connection failed.
  bool close();

 private:
  bool take(std::unique_lock<std::mutex>& lock, TimePoint by);

  Connection& connection_;
  std::mutex mutex_;
  std::condition_variable ended_;
  // Guarded by the mutex.
  bool taken_ = false;
  bool hearing_ = false;  // taken for a moment, by hear()
  bool closed_ = false;
  bool broken_ = false;
};

// For one call; given back when destroyed.
class Line {
 public:
  using Pool = server::Pool<Connection>;

  explicit Line(Pool::Lease lease) : lease_(std::move(lease)) {}
  // REQUIRES: its turn, which ends when this is destroyed.
  explicit Line(std::shared_ptr<Ear> ear) : ear_(std::move(ear)) {}
  Line(Line&&) noexcept = default;
  Line& operator=(Line&&) = delete;
  ~Line() {
    if (ear_) ear_->end_turn();
  }

  Connection* operator->() const noexcept { return &**this; }
  Connection& operator*() const noexcept { return ear_ ? ear_->connection() : **lease_; }

  // The connection failed. REQUIRES: not used after this.
  void broken() {
    if (ear_) {
      ear_->broken();
    } else {
      lease_->broken();
    }
  }

 private:
  std::shared_ptr<Ear> ear_;
  std::optional<Pool::Lease> lease_;
};

}  // namespace lockset::postgresql
