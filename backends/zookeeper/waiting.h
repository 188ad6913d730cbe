// Who waits for a name stands in its queue: an ephemeral sequential node. The first in the
// queue watches the name, each of the others the one before him, so that what becomes free
// wakes one of them, whatever their number. ADR 0025.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/zookeeper/records.h"
#include "backends/zookeeper/store.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

// Queue nodes whose waiters went without a word.
class Litter {
 public:
  // One that may have been made: the answer is lost.
  struct Perhaps {
    std::string queue;
    std::string part;   // how its name begins
    TimePoint until{};  // it won't come any more
  };
  struct Found {
    std::vector<std::string> paths;
    std::vector<Perhaps> perhaps;
  };

  void add(std::string path) {
    const std::lock_guard lock(mutex_);
    found_.paths.push_back(std::move(path));
  }
  void add(Perhaps perhaps) {
    const std::lock_guard lock(mutex_);
    found_.perhaps.push_back(std::move(perhaps));
  }
  Found take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(found_, {});
  }

 private:
  std::mutex mutex_;
  Found found_;
};

// One waiting acquire. Used by one thread at a time.
class Ticket final : public WaitTicket {
 public:
  explicit Ticket(std::shared_ptr<Litter> litter) : litter_(std::move(litter)) {}
  ~Ticket() override {
    if (!node_.empty()) litter_->add(std::move(node_));
  }

  // Its place in the store; "" if it has none.
  [[nodiscard]] const std::string& node() const noexcept { return node_; }

 private:
  friend class Waiting;
  const std::shared_ptr<Litter> litter_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  std::string node_;
  std::shared_ptr<Session> session_;  // that owns it
  std::unique_ptr<Seat> seat_;        // its room there
  std::string name_;                  // whose queue it is
  Mode mode_ = Mode::write;
  std::uint32_t permits_ = 1;
  std::int32_t config_version_ = 0;  // of the node, when the permits were those
  // The one before it has gone, or there was none at the last look.
  bool may_be_first_ = false;
  // Of the name, when it was the first and had to sleep.
  std::optional<std::int32_t> seen_version_;
  // Watches that have not fired yet, and what the predecessor's is on.
  unsigned armed_ = 0;
  std::string predecessor_;
};

// What is in the way of a waiter.
struct Obstacle {
  LockRequest wanted;
  std::uint32_t permits = 1;
  std::int32_t config_version = 0;
};

// Thread-safe.
class Waiting {
 public:
  explicit Waiting(OpenSpace& space) : space_(space) {}

  // After a busy answer: a new place, or `ticket` again, in the queue of the name that is in
  // the way now. Whatever becomes free from now on is not missed.
  Result<std::shared_ptr<Ticket>> queue_up(std::shared_ptr<Ticket> ticket, const Obstacle& obstacle,
                                           const Record& waiter, TimePoint by);
  // Until `until`, a stop, or the name's having become free as far as can be seen.
  Status await(Ticket& ticket, TimePoint until, const std::stop_token& stop);
  // The ticket, if it is one of this object's; null for one of a generation that is over.
  [[nodiscard]] std::shared_ptr<Ticket> own(const std::shared_ptr<WaitTicket>& ticket) const;
  // Takes it out of the queue: whose turn it is then looks by himself.
  void leave(Ticket& ticket, TimePoint by);
  // Its place has gone, with the grant.
  static void left(Ticket& ticket) {
    ticket.node_.clear();
    ticket.seat_.reset();
  }
  // The permits of this name, or of all, have grown: has the first of each queue look.
  void permits_grew(std::string_view name, TimePoint by);
  // Removes what waiters left behind.
  void tidy(TimePoint by);

 private:
  // What a look at the queue says to its waiter.
  enum class Turn : std::uint8_t { sleep, go };

  Status enter(Ticket& ticket, const Record& waiter, TimePoint by);
  void find_litter(std::vector<Litter::Perhaps> perhaps, TimePoint by);
  Result<Turn> look(Ticket& ticket, TimePoint by);
  void touch(Session& session, const std::string& node, TimePoint by);
  void slow_down(Ticket& ticket, std::int32_t version, TimePoint by);
  std::vector<std::string> sorted_queue(const Reply& reply) const;

  OpenSpace& space_;
  const std::shared_ptr<Litter> litter_ = std::make_shared<Litter>();
};

}  // namespace lockset::zookeeper
