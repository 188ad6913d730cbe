// What a call goes over: a connection of a pool, or the one that listens.
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

// The connection that hears wake-ups. Calls go over it too, each in its turn, so that a process
// that waits needs no other one. Thread-safe.
class Ear {
 public:
  // The connection listens. The thread that has the turn uses it, until close().
  explicit Ear(Connection& connection) : connection_(connection) {}
  Ear(const Ear&) = delete;
  Ear& operator=(const Ear&) = delete;

  // Only if no call has it now, and the connection looks sound.
  bool try_turn();
  // By `by`; false if it is over, too.
  bool take_turn(TimePoint by);
  // REQUIRES: the turn. Hands on what was notified meanwhile.
  void end_turn();
  // For the one who listens: hands on what has been notified. False: it is over.
  bool hear();
  // The connection failed. REQUIRES: the turn.
  void broken() noexcept;

  // REQUIRES: the turn.
  [[nodiscard]] Connection& connection() noexcept { return connection_; }
  // Waits until nobody has the turn; nobody gets it any more. False if the connection failed.
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

// For one call; given back when it goes.
class Line {
 public:
  using Pool = connections::Pool<Connection>;

  explicit Line(Pool::Lease lease) : lease_(std::move(lease)) {}
  // REQUIRES: its turn, which ends with this.
  explicit Line(std::shared_ptr<Ear> ear) : ear_(std::move(ear)) {}
  Line(Line&&) noexcept = default;
  Line& operator=(Line&&) = delete;
  ~Line() {
    if (ear_) ear_->end_turn();
  }

  Connection* operator->() const noexcept { return &**this; }
  Connection& operator*() const noexcept { return ear_ ? ear_->connection() : **lease_; }

  // The connection failed. REQUIRES: not used any more after this.
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
