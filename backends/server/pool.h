// The connections to one server: opened when needed, kept for the next call, thrown away when
// broken.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "core/shortage.h"
#include "core/time_math.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::server {

// `Connection` has `bool hung_up() const`: certainly broken while it was idle. One thread at a time
// uses it, not always the one that opened it. Thread-safe.
template <class Connection>
class Pool {
 public:
  // Opens a connection. Runs on a thread of the pool, so that no caller waits for it beyond its
  // deadline; several may run at once. It must return in the end: the destructor waits for it.
  using Open = std::function<Result<std::unique_ptr<Connection>>()>;

  // A connection for one call. Returns it when destroyed.
  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<Connection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (connection_) pool_->give_back(std::move(connection_));
    }

    Connection* operator->() const noexcept { return connection_.get(); }
    Connection& operator*() const noexcept { return *connection_; }

    // The connection failed: closes it, and the idle ones that have hung up too. REQUIRES: not used
    // after this.
    void broken() { pool_->throw_away(std::move(connection_)); }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // `store` is the store's name in messages: "PostgreSQL (app@db/prod)".
  Pool(std::size_t most, Open open, std::string store = "the store")
      : most_(most), open_(std::move(open)), store_(std::move(store)) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // REQUIRES: no Lease exists.
  ~Pool() {
    for (Opener& opener : openers_) opener.thread.join();
  }

  // At most this many from now on. Existing ones beyond that stay.
  void limit(std::size_t most) {
    const std::lock_guard lock(mutex_);
    most_ = most;
    changed_.notify_all();
  }

  // An idle connection, if there is one now.
  std::optional<Lease> take_idle() {
    std::unique_lock lock(mutex_);
    std::unique_ptr<Connection> connection = pop_idle(lock);
    if (!connection) return {};
    return std::optional<Lease>(std::in_place, *this, std::move(connection));
  }

  // Closes the idle connections, except `keep` of them.
  void close_idle(std::size_t keep = 0) {
    std::vector<std::unique_ptr<Connection>> idle;  // closed after the mutex is unlocked
    const std::lock_guard lock(mutex_);
    while (idle_.size() > keep) {
      idle.push_back(std::move(idle_.front()));
      idle_.erase(idle_.begin());
    }
  }

  // An idle connection, a new one, or the next one that is given back; by `by`. If no other one can
  // be waited for, the error of opening one; else Errc::unavailable. Nothing was sent in either
  // case.
  Result<Lease> take(TimePoint by) {
    std::unique_lock lock(mutex_);
    const std::size_t failures_before = failures_;
    ++waiting_;
    Result<Lease> lease = wait_for_one(lock, failures_before, by);
    --waiting_;
    return lease;
  }

 private:
  struct Opener {
    Thread thread;
    bool done = false;
  };

  // How long to leave a server alone that accepts no more connections, while there are connections
  // of ours to wait for.
  static constexpr std::chrono::seconds refusal_pause{1};

  Result<Lease> wait_for_one(std::unique_lock<std::mutex>& lock, std::size_t failures_before,
                             TimePoint by) {
    while (true) {
      if (std::unique_ptr<Connection> connection = pop_idle(lock)) {
        return Lease(*this, std::move(connection));
      }
      if (last_failure_ && failures_ != failures_before && in_use_ == 0) return *last_failure_;
      if (BootClock::now() >= by) return late();
      const TimePoint now = BootClock::now();
      if (now >= open_again_ && opening_ < waiting_ && in_use_ + opening_ < most_) {
        start_opening();
        continue;  // the attempt may have failed already
      }
      changed_.wait_until(lock,
                          on_steady_clock(now < open_again_ ? std::min(by, open_again_) : by));
    }
  }

  // The idle connection that was used last: it is the least likely to have been cut off.
  std::unique_ptr<Connection> pop_idle(std::unique_lock<std::mutex>& lock) {
    while (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      ++in_use_;
      lock.unlock();
      const bool broken = connection->hung_up();
      if (broken) connection.reset();
      lock.lock();
      if (!broken) return connection;
      --in_use_;
    }
    return nullptr;
  }

  void start_opening() {
    openers_.remove_if([](Opener& opener) {
      if (opener.done) opener.thread.join();
      return opener.done;
    });
    Opener& opener = openers_.emplace_back();
    try {
      opener.thread.start([this, &opener] { open_one(opener); });
      ++opening_;
    } catch (const std::system_error& error) {
      openers_.pop_back();
      failed(Error{Errc::unavailable,
                   store_ + ": can't start a thread: " + text_of_errno(error.code().value())});
    }
  }

  void failed(Error error) {
    ++failures_;
    last_failure_ = std::move(error);
    open_again_ = in_use_ > 0 ? BootClock::now() + refusal_pause : TimePoint();
  }

  void open_one(Opener& opener) {
    Result<std::unique_ptr<Connection>> opened = open_();
    const std::lock_guard lock(mutex_);
    --opening_;
    if (opened) {
      idle_.push_back(*std::move(opened));
      open_again_ = TimePoint();
      last_failure_.reset();
    } else {
      failed(std::move(opened).error());
    }
    opener.done = true;
    // Under the mutex: once it is free, the pool may be destroyed.
    changed_.notify_all();
  }

  void give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    --in_use_;
    idle_.push_back(std::move(connection));
    changed_.notify_one();
  }

  void throw_away(std::unique_ptr<Connection> connection) {
    std::vector<std::unique_ptr<Connection>> broken;
    broken.push_back(std::move(connection));
    {
      const std::lock_guard lock(mutex_);
      --in_use_;
      const auto first = std::stable_partition(idle_.begin(), idle_.end(),
                                               [](const auto& idle) { return !idle->hung_up(); });
      std::move(first, idle_.end(), std::back_inserter(broken));
      idle_.erase(first, idle_.end());
      changed_.notify_all();
    }
    // Closing may talk to the server: not under the mutex.
  }

  Error late() const {
    if (in_use_ < most_ && opening_ > 0) {
      return Error{Errc::unavailable, store_ + ": did not answer in time while connecting to it"};
    }
    if (in_use_ < most_) {
      if (last_failure_) return *last_failure_;
      // Usually the process was stopped for a while.
      return Error{Errc::unavailable, store_ + ": the time was up before it could be asked"};
    }
    return Error{Errc::unavailable, store_ + ": all " + std::to_string(most_) +
                                        " connections to it are in use (parameter pool)"};
  }

  std::size_t most_;  // guarded by mutex_
  const Open open_;
  const std::string store_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t in_use_ = 0;
  std::size_t opening_ = 0;
  std::size_t waiting_ = 0;
  // How often opening failed since the last success, and why the last attempt failed.
  std::size_t failures_ = 0;
  std::optional<Error> last_failure_;
  TimePoint open_again_{};
  std::list<Opener> openers_;
};

}  // namespace lockset::server
