// Spaces in memory that are the nodes of a quorum, and processes that use it. Each process has its
// own way to each node, on which a test makes faults.
//
// Thread-safety: the backends are thread-safe; the rest is for one thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/quorum/backend.h"
#include "backends/quorum/schema.h"
#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"
#include "tests/support/client.h"
#include "tests/support/wait.h"

namespace lockset::test {

using namespace std::chrono_literals;

inline const Wanted a = {write("a")};

// A node's clock, which runs, and which a test can move forward. Thread-safe.
class NodeClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const noexcept override {
    return BootClock::now() + Duration(ahead_.load());
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override {
    using Wall = std::chrono::system_clock;
    return Wall::now() + std::chrono::duration_cast<Wall::duration>(Duration(ahead_.load()));
  }
  void advance(Duration by) noexcept { ahead_ += by.count(); }

 private:
  std::atomic<Duration::rep> ahead_{0};
};

// The way from one process to one node.
class Way final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  // Each call ends at once, and nothing arrives.
  std::atomic<bool> down = false;
  std::atomic<std::size_t> calls = 0;  // of all kinds, whether or not they arrived
  // The node finds no hold when one is renewed, for it has forgotten them all, and is in
  // quarantine.
  std::atomic<bool> forgets = false;
  std::atomic<std::int64_t> registered = 0;  // the stamp of the last part that it was told again
  std::atomic<std::size_t> acquires = 0;     // of these, those that arrived and were answered

  // From now on calls arrive, and their answers wait for let_answers_through() or the deadline.
  void hold_answers_back();
  void let_answers_through();
  // From now on calls wait for let_answers_through() or the deadline, and do not arrive.
  void hang();

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<ReregisterOutcome> reregister(const Owner& owner, const ReregisterRequest& request,
                                       TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;

 private:
  enum class Mood : std::uint8_t { usual, holds_back, hangs };
  template <class Send>
  auto send(TimePoint by, Send forward) -> decltype(forward());
  bool wait(Mood mood, TimePoint by);

  std::mutex mutex_;
  std::condition_variable changed_;
  Mood mood_ = Mood::usual;
};

// A process that uses the quorum.
struct Process {
  std::vector<std::shared_ptr<Way>> to;
  std::shared_ptr<Backend> backend;
};

class Nodes {
 public:
  // `exact`: whether the quorum may rely on the nodes to draw what it asks for.
  explicit Nodes(std::size_t count = 3, bool exact = true);

  // `down`: nodes that this process can't reach at first.
  Process open(const std::vector<std::size_t>& down = {});
  Result<Process> try_open(const std::vector<std::size_t>& down = {});
  static Client client(const Process& process, std::string app = "app") {
    return Client(process.backend, std::move(app));
  }
  Status init() { return quorum::init_nodes(addresses(), soon()); }
  // The node loses all that it had.
  void wipe(std::size_t node);
  // A client of this node alone.
  std::shared_ptr<Backend> alone(std::size_t node) {
    return make_memory_backend(places_[node]->get());
  }
  std::vector<HoldInfo> in(std::size_t node);
  std::vector<quorum::NodeAddress> addresses() const;

  std::vector<std::unique_ptr<NodeClock>> clocks;

 private:
  // Where a node is; the space there may be wiped. Thread-safe.
  class Place {
   public:
    explicit Place(const Clock& clock) : clock_(clock), store_(make_memory_store(clock)) {}
    [[nodiscard]] std::shared_ptr<MemoryStore> get() const {
      const std::lock_guard lock(mutex_);
      return store_;
    }
    void wipe() {
      const std::lock_guard lock(mutex_);
      store_ = make_memory_store(clock_);
    }

   private:
    const Clock& clock_;
    mutable std::mutex mutex_;
    std::shared_ptr<MemoryStore> store_;
  };
  class Reopening;  // asks whatever space the node has now
  const bool exact_;
  std::vector<std::shared_ptr<Place>> places_;
};

}  // namespace lockset::test
