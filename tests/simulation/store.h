// The store: the memory backend on a clock of its own, which is not to be trusted, and the truth
// about what became of each grant.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lockset/memory_backend.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/world.h"

namespace lockset::simulation {

class StoreClock final : public Clock {
 public:
  StoreClock(const World& world, double rate) : world_(world), rate_(rate) {}
  [[nodiscard]] TimePoint now() const noexcept override;
  [[nodiscard]] std::chrono::system_clock::time_point wall() const noexcept override;

  Duration ahead{};
  Duration wall_ahead{};

 private:
  const World& world_;
  const double rate_;
};

// One waiter: told when something may have become free.
struct Ticket final : WaitTicket {
  explicit Ticket(std::uint32_t of) : actor(of) {}
  const std::uint32_t actor;
  bool changed = false;
  Fiber* waiting = nullptr;
};

// What became of a grant.
struct Fate {
  enum class End : std::uint8_t { none, released, broken, reclaimed };
  Token token;
  Process* process = nullptr;  // that asked for it
  TimePoint granted;
  bool of_application = false;  // "@app:..."
  bool permanent = false;
  // By a request that came once more after it had been answered: nobody will ask for it.
  bool stray = false;
  End end = End::none;  // none: it is live, or its lease has ended
  Process* ended_by = nullptr;
};

// What clients reach over the network (remote.h). Answers at once; runs on no fiber.
class Store {
 public:
  Store(World& world, const Profile& profile);
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  ~Store();

  // The store as `process` asks it; `again`: with a request that was answered before; `unheard`:
  // with one whose answer nobody waits for any more.
  Backend& serve(Process* process, bool again = false, bool unheard = false) noexcept;
  [[nodiscard]] bool down() const noexcept { return world_.now() < down_until_; }
  void listen(const std::shared_ptr<Ticket>& ticket) { listeners_.emplace_back(ticket); }
  // Whether the hold is live at this instant.
  [[nodiscard]] bool live(Stamp stamp);
  [[nodiscard]] const Fate* fate(Stamp stamp) const;
  [[nodiscard]] const std::map<Stamp, Fate>& fates() const noexcept { return fates_; }
  // The most that a hold can outlive its lease on the true clock.
  [[nodiscard]] Duration slack(Duration longest_lease) const;
  // When its clock was stepped far ahead.
  [[nodiscard]] TimePoint stepped() const noexcept { return stepped_; }

  // Starts what happens to the store by itself: restarts, clocks, pictures of it.
  void begin();
  // Ends the run: permanent holds of the dead are broken, expired ones swept, the rest counted.
  void finish();

 private:
  class Front;  // passes calls on to the memory backend, and notes what came of them
  void tick();
  void take_picture();
  void disturb_world();
  void announce();
  void note_stray(const AcquireRequest& request);

  World& world_;
  const Profile& profile_;
  StoreClock clock_;
  std::unique_ptr<Front> front_;
  TimePoint down_until_{};
  TimePoint stepped_ = TimePoint::max();
  std::map<Stamp, Fate> fates_;
  std::uint64_t strays_ = 0;
  std::vector<std::weak_ptr<Ticket>> listeners_;
};

}  // namespace lockset::simulation
