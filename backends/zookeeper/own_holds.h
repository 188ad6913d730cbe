// The holds that this client took, and when each must end. A session keeps all of its nodes as long
// as its client lives, so the client itself has to end a hold that is not renewed: the registry
// knows the deadlines, and the reaper (reaper.h) ends the holds.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/zookeeper/sessions.h"
#include "lockset/clock.h"
#include "lockset/inspection.h"
#include "lockset/stamp.h"

namespace lockset::zookeeper {

// The zxid of the last change of the node above all holds. Every client changes that node in the
// step that ends another client's hold (OpenSpace::end_of_other). No two breaks have the same zxid.
using Breaks = std::int64_t;

// A hold, or an attempt to get one. The registry's mutex guards every member that is not const.
struct OwnHold {
  enum class State : std::uint8_t {
    asked,    // sent, but not answered: may be granted at any moment
    live,     // granted, as far as is known
    expired,  // its deadline has passed: it only has to be removed
  };

  const std::string token;  // as Token::hex
  const std::vector<LockRequest> items;
  const std::string app;
  const std::string label;
  const std::int64_t base;           // the base of its stamp
  const Duration lease;              // as granted, and restored by each renewal
  const std::shared_ptr<Seat> seat;  // a hold and the one that takes its place share it
  // The request relied on data that counts in connections up to this one. If it was done in a later
  // one, its result must not be used: the store may have been restored in between.
  const ConnectionNumber made_from = 0;
  // The hold of this client whose place it takes, by its token; "": none.
  const std::string replaces{};
  State state = State::asked;
  Stamp stamp{};
  TimePoint deadline{};
  // As long as the breaks have this value, nobody else has ended it; 0: not known.
  Breaks unbroken_at = 0;
  // Seen in the connection with this number: a later one may lead to a restored store.
  ConnectionNumber seen_in = 0;
  // When its request was under way.
  TimePoint sent_at = TimePoint::max();
  // Granted perhaps, but too late: nobody may use it.
  bool unusable = false;
  // The attempts to take its place that are not over, by their tokens: it may have ended.
  std::set<std::string> attempts{};

  [[nodiscard]] const std::shared_ptr<Session>& session() const { return seat->session(); }
};

// Thread-safe. Results are copies of the state at that moment.
class OwnHolds {
 public:
  // Called for every deadline that is earlier than all others. Set it once, before use.
  void on_earlier_deadline(std::function<void(TimePoint)> ring) { ring_ = std::move(ring); }

  // Call it before the request is sent. From `deadline` on the attempt has to be removed, but not
  // before the request is under way: a removal that overtakes it would find nothing, and nobody
  // would end the hold. `connection`: the present one of its session. An attempt to take a hold's
  // place does not end before that hold.
  void ask(const std::shared_ptr<OwnHold>& hold, TimePoint deadline,
           ConnectionNumber connection = 0);
  void sent(const std::string& token);
  // Takes the breaks that were read when the client's last connection was `read_at`. Holds that are
  // requested from now on come after them.
  void saw(Breaks breaks, ConnectionNumber read_at);
  // True if the breaks were read in a way that counts in this connection.
  [[nodiscard]] bool knows_breaks(ConnectionNumber connection) const;
  // Those of the tokens whose holds may have been broken before the breaks were read as `breaks`,
  // in this connection.
  [[nodiscard]] std::vector<std::string> doubtful(const std::vector<std::string>& tokens,
                                                  Breaks breaks, ConnectionNumber connection) const;
  // The same for the last value that was read: probably nobody broke a hold since.
  [[nodiscard]] std::vector<std::string> doubtful(const std::vector<std::string>& tokens,
                                                  ConnectionNumber connection) const;
  // This hold was seen in this connection, after the breaks had been read as `breaks`.
  void seen(const std::string& token, Breaks breaks, ConnectionNumber connection);

  // Its request was done in this connection, if it was done at all. False: the connection is too
  // late, and the hold expires; or, if it took the place of another one, is refused.
  bool done_in(const std::string& token, ConnectionNumber connection);
  // Nobody may use it, but it stays until its deadline: until then the hold whose place it took may
  // count as held.
  void refuse(const std::string& token);
  // The request was granted; the hold whose place it takes is forgotten. The deadline stays: a late
  // answer proves no contact later than that of its request.
  void granted(const std::string& token, Stamp stamp);
  // It has certainly ended, or was certainly not granted.
  void forget(const std::string& token);

  struct Known {
    std::shared_ptr<OwnHold> hold;
    OwnHold::State state;
    Stamp stamp;
    TimePoint deadline;
    ConnectionNumber seen_in;  // 0: not answered
    // Neither past its deadline nor about to be removed.
    [[nodiscard]] bool live() const;
  };
  [[nodiscard]] std::optional<Known> find(const std::string& token) const;
  [[nodiscard]] std::optional<Known> find(Stamp stamp) const;
  // The tokens of holds that are not live any more, and remain until they have been removed.
  [[nodiscard]] std::set<std::string> past_deadline() const;
  // The holds that are past their deadlines; they count as expired from now on.
  std::vector<std::shared_ptr<OwnHold>> take_due(TimePoint now);
  // Whether this session has a hold or an attempt that is not past its deadline.
  [[nodiscard]] bool any_live_in(const Session& session) const;
  [[nodiscard]] TimePoint next_deadline() const;

  // REQUIRES: if attempts to take its place were in doubt, the hold was seen since.
  // Moves the deadline to `sent` + its lease, or less if its session now supports less. Does
  // nothing if the deadline has passed meanwhile or the hold is gone. Returns the rest, counted
  // from `sent`.
  std::optional<Duration> renew(const std::string& token, TimePoint sent);

  // Sets its deadline to now: nobody wants it.
  void expire(const std::string& token);
  // Forgets everything.
  std::vector<std::shared_ptr<OwnHold>> take_all();
  // Forgets everything in this session.
  std::vector<std::shared_ptr<OwnHold>> take_all_in(const Session& session);

 private:
  [[nodiscard]] static Known known(const std::shared_ptr<OwnHold>& hold) {
    return {hold, hold->state, hold->stamp, hold->deadline, hold->seen_in};
  }
  // Takes it out of the registry; null if it is not there.
  std::shared_ptr<OwnHold> drop(const std::string& token);
  void move_deadline(OwnHold& hold, TimePoint deadline);
  void keep_attempts(const OwnHold& hold, TimePoint sent);

  std::function<void(TimePoint)> ring_;
  mutable std::mutex mutex_;
  Breaks breaks_ = 0;  // the last value that was read
  ConnectionNumber breaks_read_at_ = 0;
  std::map<std::string, std::shared_ptr<OwnHold>> holds_;  // by token
  std::map<Stamp, std::shared_ptr<OwnHold>> by_stamp_;
  // The deadlines of holds that are not expired yet.
  std::set<std::pair<TimePoint, std::string>> deadlines_;
};

}  // namespace lockset::zookeeper
