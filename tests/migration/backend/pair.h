// Two memory spaces, with a move from one to the other, and processes that open both. Each process
// has its own network to each store, on which a test makes faults.
//
// Thread-safety: the backends are thread-safe; the rest is for one thread.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/migration_mark.h"
#include "lockset/forwarding_backend.h"
#include "lockset/memory_backend.h"
#include "lockset/migration.h"
#include "tests/support/client.h"
#include "tests/support/faulty_backend.h"

namespace lockset::test {

using Step = MigrationMark::Step;

inline constexpr std::uint32_t the_migration = 17;

inline const Wanted a = {write("a")};

// A store's clock, which runs, and which a test can move forward. Thread-safe.
class StoreClock final : public Clock {
 public:
  explicit StoreClock(Duration ahead) : ahead_(ahead.count()) {}
  [[nodiscard]] TimePoint now() const noexcept override {
    return BootClock::now() + Duration(ahead_.load());
  }
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override {
    using Wall = std::chrono::system_clock;
    return Wall::now() + std::chrono::duration_cast<Wall::duration>(Duration(ahead_.load()));
  }
  void advance(Duration by) noexcept { ahead_ += by.count(); }

 private:
  std::atomic<Duration::rep> ahead_;
};

// The way from one process to one store.
class Way final : public ForwardingBackend {
 public:
  explicit Way(std::shared_ptr<FaultyBackend> store)
      : ForwardingBackend(store), faults_(std::move(store)) {}

  // Nothing arrives any more, and each call ends at once.
  std::atomic<bool> down = false;
  // Called before each call, with its deadline; set it before the first call.
  std::function<void(TimePoint by)> on_every_call;
  // The user is a program: a call that needs an operator's rights is refused.
  std::atomic<bool> of_a_program = false;
  // What traits() says instead of the store's own.
  std::optional<Traits> other_traits;
  // The rest of the lease that a renewal reports, instead of the real one.
  std::optional<Duration> other_lease;
  // Called once, before the next call of this kind is sent; removed before it runs.
  void before(Call call, std::function<void()> action);
  // Called once, after the store has answered the next call of this kind.
  void after(Call call, std::function<void()> action);
  // Counts the calls so far, whether or not they arrived.
  [[nodiscard]] std::size_t calls() const { return calls_; }
  // How much time the last call of this kind had.
  [[nodiscard]] Duration given(Call call) const;
  FaultyBackend& faults() { return *faults_; }

  [[nodiscard]] Traits traits() const override;
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;

  std::atomic<std::size_t> ended_waits = 0;
  // The ticket of the last attempt with a ticket.
  std::atomic<WaitTicket*> last_ticket = nullptr;

 private:
  template <class Send>
  auto send(Call call, TimePoint by, Send forward) -> decltype(forward());
  void run(std::map<Call, std::function<void()>>& actions, Call call);

  const std::shared_ptr<FaultyBackend> faults_;
  std::atomic<std::size_t> calls_ = 0;
  mutable std::mutex mutex_;
  std::map<Call, std::function<void()>> before_;
  std::map<Call, std::function<void()>> after_;
  std::map<Call, Duration> given_;
};

// A process that uses both stores.
struct Process {
  std::shared_ptr<Way> to_old;
  std::shared_ptr<Way> to_new;
  std::shared_ptr<Backend> backend;
};

class Pair {
 public:
  // Returns open's error; `prepare` may change the ways before the process is opened.
  Result<Process> try_open(const std::function<void(Process&)>& prepare = {});
  Process open() { return try_open().value(); }
  // A client that makes one call at a time, of this application.
  static Client client(const Process& process, std::string app = "app", std::int64_t epoch = 0) {
    return Client(process.backend, std::move(app), epoch);
  }

  // Changes one mark, as a step of the migration does.
  void mark_old(Step step);
  void mark_new(Step step);
  // Goes straight to a phase, from old_only.
  void go_to(MigrationPhase phase);
  // Steps of the migration as Migration takes them, including what they have to raise.
  void dual_old_to_dual_new();
  void dual_new_to_dual_old();

  // Another client of the old store alone.
  std::shared_ptr<Backend> share_old() { return make_memory_backend(old_); }
  std::unique_ptr<Backend> own_old() { return make_memory_backend(old_); }
  std::shared_ptr<Backend> share_new() { return make_memory_backend(new_); }

  Backend& old_store() { return *old_backend_; }
  Backend& new_store() { return *new_backend_; }
  std::vector<HoldInfo> in_old() { return old_backend_->inspect({}, soon_()).value().holds; }
  std::vector<HoldInfo> in_new() { return new_backend_->inspect({}, soon_()).value().holds; }
  std::vector<HoldInfo> in_any() {
    std::vector<HoldInfo> holds = in_old();
    for (const HoldInfo& hold : in_new()) holds.push_back(hold);
    return holds;
  }

  // An hour apart: the stamps of the old store are far above those that the new one would draw.
  StoreClock old_clock{std::chrono::hours(2)};
  StoreClock new_clock{std::chrono::hours(1)};

 private:
  static TimePoint soon_();
  std::shared_ptr<MemoryStore> old_ = make_memory_store(old_clock);
  std::shared_ptr<MemoryStore> new_ = make_memory_store(new_clock);
  std::unique_ptr<Backend> old_backend_ = make_memory_backend(old_);
  std::unique_ptr<Backend> new_backend_ = make_memory_backend(new_);
};

}  // namespace lockset::test
