// A waiter for a name is an ephemeral sequential node in the name's queue. The first in the queue
// watches the name, and each other one watches the one before it. So a name that becomes free wakes
// one of them, however many there are. ADR 0025.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "backends/zookeeper/records.h"
#include "backends/zookeeper/store.h"
#include "lockset/backend.h"

namespace lockset::zookeeper {

// Queue nodes whose waiters vanished.
class Litter {
 public:
  // A node that may have been created: the answer is lost.
  struct Perhaps {
    std::string queue;
    std::string part;   // the beginning of its name
    TimePoint until{};  // it can't appear any more after this
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
    for (std::string& node : nodes()) litter_->add(std::move(node));
  }

  // Its nodes in the store.
  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> all = line_nodes_;
    if (!node_.empty()) all.push_back(node_);
    return all;
  }
  // In the lines of its names; "" if it is not there.
  [[nodiscard]] const std::string& token() const noexcept { return token_; }
  // The waiter that kept the name from it at the last look; "": a hold was in the way.
  [[nodiscard]] const std::string& keeper() const noexcept { return keeper_; }

 private:
  friend class Waiting;
  const std::shared_ptr<Litter> litter_;
  const std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  // Its place in the lines of all its names.
  std::string token_;
  std::vector<std::string> line_nodes_;
  std::shared_ptr<Session> line_session_;  // the session that owns them
  std::unique_ptr<Seat> line_seat_;
  // Its place in the queue of the name that blocks it.
  std::string node_;
  std::shared_ptr<Session> session_;  // the session that owns the node
  std::unique_ptr<Seat> seat_;        // the node's room in the session
  std::string name_;                  // the name of the queue
  Mode mode_ = Mode::write;
  std::uint32_t permits_ = 1;
  std::int32_t config_version_ = 0;  // the node's version for which these permits applied
  bool called_ = false;              // somebody waits for us to come
  std::string keeper_;  // the waiter that the name is kept for; "": a hold is in the way
  // The one before it is gone, or there was none at the last look.
  bool may_be_first_ = false;
  bool is_far_ = false;  // many were before it, at the last look
  // The name's version when it was the first and had to sleep.
  std::optional<std::int32_t> seen_version_;
  // Watches that have not fired yet, and the predecessor that is watched.
  unsigned armed_ = 0;
  std::string predecessor_;
  std::string watched_keeper_;
};

// What blocks a waiter.
struct Obstacle {
  LockRequest wanted;
  std::uint32_t permits = 1;
  std::int32_t config_version = 0;
  bool bounded = true;  // waiters stand in line
  std::string keeper{};
  // Those of the waiter's names that did not tell that somebody may be in line.
  std::vector<std::string> unmarked{};
};

// Thread-safe.
class Waiting {
 public:
  explicit Waiting(OpenSpace& space) : space_(space) {}

  // After a busy answer: a new place, or `ticket` again, in the queue of the name that blocks it
  // now. From now on no release is missed.
  Result<std::shared_ptr<Ticket>> queue_up(std::shared_ptr<Ticket> ticket, const Obstacle& obstacle,
                                           const Record& waiter, TimePoint by);
  // Waits until `until`, a stop, or until the name seems to have become free.
  Status await(Ticket& ticket, TimePoint until, const std::stop_token& stop);
  // await() has something to look at. Does not wait.
  [[nodiscard]] bool has_changed(const Ticket& ticket) const {
    return ticket.litter_ != litter_ || ticket.signal_->raised();
  }
  // The ticket, if this object made it; null for one of a generation that is over.
  [[nodiscard]] std::shared_ptr<Ticket> own(const std::shared_ptr<WaitTicket>& ticket) const;
  // Takes it out of the queue: the next waiter then looks on its own.
  void leave(Ticket& ticket, TimePoint by);
  // Its nodes are gone, with the grant.
  static void left(Ticket& ticket) {
    left_queue(ticket);
    left_line(ticket);
  }
  // Some of its nodes are gone: it has to begin anew.
  void lost(Ticket& ticket);
  // The permits of this name, or of all names, have grown: makes the first of each queue look.
  void permits_grew(std::string_view name, TimePoint by);
  // Removes what waiters left.
  void tidy(TimePoint by);

 private:
  // What a look at the queue tells its waiter.
  enum class Turn : std::uint8_t { sleep, go };

  static void left_queue(Ticket& ticket) {
    ticket.node_.clear();
    ticket.seat_.reset();
  }
  static void left_line(Ticket& ticket) {
    ticket.token_.clear();
    ticket.line_nodes_.clear();
    ticket.line_session_.reset();
    ticket.line_seat_.reset();
    ticket.called_ = false;
  }
  Status enter(Ticket& ticket, const Record& waiter, const Obstacle& obstacle, TimePoint by);
  Status mark_names(Session& session, const std::vector<std::string>& names,
                    std::span<const Reply> found, TimePoint by);
  void leave_queue(Ticket& ticket, TimePoint by);
  Status make_parents(Session& session, const std::string& name, const Record* in_line,
                      TimePoint by);
  [[nodiscard]] std::vector<Request> line_request(const std::string& token, const Record& waiter,
                                                  const std::vector<std::string>& unmarked) const;
  void add_line_requests(const Ticket& ticket, std::vector<Request>& requests) const;
  void come(Ticket& ticket, const Reply& call, TimePoint by);
  void wake_older(const Ticket& ticket, Session& session, const Line& line,
                  const std::vector<std::string>& queue, TimePoint by);
  void find_litter(std::vector<Litter::Perhaps> perhaps, TimePoint by);
  Result<Turn> look(Ticket& ticket, TimePoint by);
  void touch(Session& session, const std::string& node, TimePoint by);
  void slow_down(Ticket& ticket, std::int32_t version, TimePoint by);
  std::vector<std::string> sorted_queue(const Reply& reply) const;

  OpenSpace& space_;
  const std::shared_ptr<Litter> litter_ = std::make_shared<Litter>();
};

}  // namespace lockset::zookeeper
