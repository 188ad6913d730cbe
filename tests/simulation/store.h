// The store: the memory backend on a separate, unreliable clock, and the truth about what became of
// each grant.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockset/memory_backend.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/truth.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

class StoreClock final : public Clock {
 public:
  StoreClock(const World& world, double rate) : world_(world), rate_(rate) {}
  [[nodiscard]] TimePoint now() const noexcept override;
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override;

  Duration ahead{};
  Duration wall_ahead{};
  bool no_calendar = false;  // it always shows 1970

 private:
  const World& world_;
  const double rate_;
};

// One waiter: notified when something may have become free.
struct Ticket final : WaitTicket {
  explicit Ticket(std::uint32_t of) : actor(of) {}
  const std::uint32_t actor;
  // Its place in the line, and whose line that is: a store that was restored has another one.
  std::shared_ptr<WaitTicket> place;
  const Backend* at = nullptr;
  bool changed = false;
  Fiber* waiting = nullptr;
};

// What clients reach over the network (remote.h). It answers at once; it does not run on a fiber.
class SimulatedStore final : public Truth {
 public:
  // `actor`: the actor whose decisions apply to it.
  SimulatedStore(World& world, const Profile& profile, std::uint32_t actor = 100);
  ~SimulatedStore() override;

  // The store as `process` asks it. `again`: with a request that was answered before. `unheard`:
  // with a request whose answer nobody waits for any more. `old`: the demoted store.
  Backend& serve(Process* process, bool again = false, bool unheard = false, bool old = false);
  // Whether its requests reach the demoted store at this time, if there is one.
  [[nodiscard]] bool reaches_demoted(const Process& process);
  [[nodiscard]] bool down() const noexcept { return world_.now() < down_until_; }
  void listen(const std::shared_ptr<Ticket>& ticket) { listeners_.emplace_back(ticket); }
  [[nodiscard]] bool live(Stamp stamp) override;
  [[nodiscard]] bool ended(Stamp stamp) const override;
  [[nodiscard]] const Fate* fate(Stamp stamp) const override;
  [[nodiscard]] const std::map<Stamp, Fate>& fates() const override { return fates_; }
  // How long a hold can outlive its lease on the true clock at most.
  [[nodiscard]] Duration slack(Duration longest_lease) const;
  [[nodiscard]] TimePoint stepped() const override { return stepped_; }
  [[nodiscard]] TimePoint lost_state() const override { return lost_state_; }
  [[nodiscard]] std::optional<Write> last_write(const std::string& name) const override;

  // Called for every change of the configuration, also by a restore.
  std::function<void(const SpaceConfig&)> config_changed;

  // How far its calendar is ahead; with the seed's decisions it also jumps.
  void set_calendar(Duration ahead) noexcept { clock_.wall_ahead = ahead; }

  // Starts the store's own events: restarts, clocks, snapshots.
  void begin();
  // Ends the run: breaks permanent holds of the dead, sweeps expired ones, counts the rest.
  void finish();

 private:
  class Front;  // forwards calls to the memory backend, and notes their results
  void tick();
  void take_picture();
  void disturb_world();
  void back_up();
  void lose_state();
  void demote();
  void announce();
  void note_stray(const AcquireRequest& request);

  World& world_;
  const Profile& profile_;
  const std::uint32_t actor_;
  StoreClock clock_;
  std::shared_ptr<MemoryStore> memory_;
  std::unique_ptr<Front> front_;
  struct Backup {
    std::shared_ptr<MemoryStore> memory;
    std::map<Stamp, Fate> fates;
    TimePoint taken;
  };
  std::optional<Backup> backup_;
  TimePoint lost_state_ = TimePoint::max();
  std::set<std::int64_t> known_epochs_;  // known to the store as it was restored
  // The demoted store; and for each client, until when it reaches this one instead of the promoted
  // one.
  std::unique_ptr<Backend> demoted_;
  TimePoint demoted_at_{};
  std::map<std::uint32_t, TimePoint> stuck_until_;
  TimePoint down_until_{};
  TimePoint stepped_ = TimePoint::max();
  std::map<Stamp, Fate> fates_;
  std::map<std::string, Write> last_writes_;  // since the state was lost
  std::uint64_t strays_ = 0;
  std::vector<std::weak_ptr<Ticket>> listeners_;
};

}  // namespace lockset::simulation
