// A client's way to the store: a network that delays, loses, repeats and reorders. Notes what the
// client was told, so that what it makes of that can be judged.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "lockset/backend.h"
#include "tests/simulation/store.h"

namespace lockset::simulation {

// Semantics 10 in this program's own words: until when a hold may be relied upon if what
// confirmed it was sent then.
TimePoint promise(TimePoint sent, Duration lease);

// What a process was told, and what it told its callers.
struct Told {
  // Until when a hold may be relied upon, by all answers so far.
  std::map<Stamp, TimePoint> promised;
  // With reclaim: the hold on the application, with which all others end.
  Token app_token;
  Stamp app;
  // Attempts of the acquire under way on each fiber that may have taken something.
  struct Attempt {
    TimePoint sent;
    TimePoint answered;
    Stamp stamp;  // 0: in doubt
  };
  std::map<Fiber*, std::vector<Attempt>> attempts;
  std::map<Fiber*, Busy> busy;
  // Grants whose caller has them; what was let go of, and how often it was renewed since.
  std::set<Stamp> known;
  std::map<Stamp, int> over;
  // What it asked the store to release.
  std::set<Stamp> given_back;
  // The store said that it has no such hold.
  std::set<Stamp> gone;
  // Released, and the caller was told that this is not confirmed: by when.
  std::map<Stamp, TimePoint> unconfirmed;
  // The last renewal that came back before the store's clock was stepped, and the first after.
  bool renewed_before_step = false;
  bool renewed_after_step = false;
  bool told_of_step = false;
  Stamp highest;

  // Until when valid() may be true, by all that was heard.
  [[nodiscard]] TimePoint until(Stamp stamp) const {
    const auto own = promised.find(stamp);
    if (own == promised.end()) return {};
    const auto with = promised.find(app);
    return with == promised.end() ? own->second : std::min(own->second, with->second);
  }
};

// What a message needs on its way, also when whoever sent it is gone. Lives as long as the run.
class Line {
 public:
  Line(World& of, Store& to, const Profile& like, Process& from)
      : world(of), store(to), profile(like), process(from) {}

  // prompt: a repeated request comes at once, for one that came later would prolong a lease
  // that all believe to have ended. orderly: nothing is repeated or late, for that could undo
  // a later change.
  enum class Network { any, prompt, orderly };
  // Null while the world is calm, and for the dead.
  std::optional<Duration> chance(Kind kind, double share, Duration least = {}, Duration most = {});
  Duration travel(Kind usual, Kind slow, Network network);

  World& world;
  Store& store;
  const Profile& profile;
  Process& process;
};

class Remote final : public Backend {
 public:
  // Both must outlive it.
  Remote(Line& line, Told& told)
      : line_(line), world_(line.world), process_(line.process), told_(told) {}

  [[nodiscard]] Traits traits() const override { return line_.profile.traits; }
  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override;
  Result<std::optional<Grant>> resolve(const Token& token, TimePoint by) override;
  Result<RenewReply> renew(const Owner& owner, std::span<const RenewRequest> requests,
                           TimePoint by) override;
  Result<bool> release(Stamp stamp, std::string_view app, TimePoint by) override;
  Result<bool> break_hold(Stamp stamp, TimePoint by) override;
  Status await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) override;
  void end_wait(WaitTicket&, TimePoint) override {}
  Result<Inspection> inspect(const InspectQuery& query, TimePoint by) override;
  Result<SpaceConfig> load_config(TimePoint by) override;
  Result<SpaceConfig> change_config(const ConfigChange& change, TimePoint by) override;
  Result<std::size_t> reclaim(std::string_view app, std::int64_t epoch, TimePoint by) override;
  Result<std::size_t> sweep(TimePoint by) override;

 private:
  using Network = Line::Network;
  template <class Reply>
  Result<Reply> call(TimePoint by, std::function<Result<Reply>(Backend&)> ask,
                     Network network = Network::any);
  template <class Reply>
  struct Open;
  template <class Reply>
  void send(const std::shared_ptr<Open<Reply>>& open, Duration travel, Network network);
  void app_renewed(TimePoint sent);
  void promised(Stamp stamp, TimePoint sent, Duration lease);

  Line& line_;
  World& world_;
  Process& process_;
  Told& told_;
};

}  // namespace lockset::simulation
