// A client's way to a store: a network that delays, loses, repeats and reorders.
#pragma once

#include <functional>
#include <memory>

#include "lockset/backend.h"
#include "tests/simulation/store.h"

namespace lockset::simulation {

// What a message needs on its way, even after its sender is gone. Lives as long as the run.
class Line {
 public:
  Line(World& of, SimulatedStore& to, const Profile& like, Process& from)
      : world(of), store(to), profile(like), process(from) {}

  // prompt: a repeated request comes at once, because a later one would prolong a lease that
  // everybody believes to have ended. orderly: nothing is repeated or late, because that could undo
  // a later change.
  enum class Network { any, prompt, orderly };
  // Null while the world is calm, and for the dead.
  std::optional<Duration> chance(Kind kind, double share, Duration least = {}, Duration most = {});
  Duration travel(Kind usual, Kind slow, Network network);

  World& world;
  SimulatedStore& store;
  const Profile& profile;
  Process& process;
};

class Remote final : public Backend {
 public:
  // Must outlive it.
  explicit Remote(Line& line) : line_(line), world_(line.world), process_(line.process) {}

  [[nodiscard]] Traits traits() const override { return line_.profile.traits; }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const HoldRef& attempt, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(const HoldRef& hold, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(const HoldRef& hold, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  void end_wait(WaitTicket& ticket, TimePoint by) override;
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;
  Result<ObserveOutcome> observe(const ObserveRequest& request) override;
  Result<std::size_t> sweep_traces(Duration unobserved, TimePoint by) override;

 private:
  using Network = Line::Network;
  template <class Reply>
  Result<Reply> call(TimePoint by, std::function<Result<Reply>(Backend&)> ask,
                     Network network = Network::any);
  template <class Reply>
  struct Open;
  template <class Reply>
  void send(const std::shared_ptr<Open<Reply>>& open, Duration travel, Network network);

  Line& line_;
  World& world_;
  Process& process_;
};

}  // namespace lockset::simulation
