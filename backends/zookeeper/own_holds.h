// The holds that this client took, and when each must end. A session keeps all of its
// nodes for as long as its client lives, so that a hold which nobody renews has to be ended
// by its own client: the registry knows the deadlines, the reaper (reaper.h) acts on them.
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

// The zxid of the last change of the node above all holds, which everybody changes in the step
// that ends another client's hold (OpenSpace::end_of_other). No two breaks have the same.
using Breaks = std::int64_t;

// A hold, or an attempt to get one. What is not const is guarded by the registry's mutex.
struct OwnHold {
  enum class State : std::uint8_t {
    asked,    // sent, not answered: may be granted at any moment
    live,     // granted, as far as is known
    expired,  // its deadline passed: it only has to be removed
  };

  const std::string token;  // as Token::hex
  const std::vector<LockRequest> items;
  const std::string app;
  const std::string label;
  const std::int64_t base;  // of its stamp
  const Duration lease;     // as granted, and restored by each renewal
  const std::unique_ptr<Seat> seat;
  // What it was asked for by counts in connections up to this. If the request was done in a later
  // one, nobody may rely on what it made: the store may have been put back between the two.
  const ConnectionNumber made_from = 0;
  State state = State::asked;
  Stamp stamp{};
  TimePoint deadline{};
  // As long as the breaks are these, nobody else has ended it; 0: not known.
  Breaks unbroken_at = 0;
  // In the connection with this number: a later one may be to a store that was put back.
  ConnectionNumber seen_in = 0;

  [[nodiscard]] const std::shared_ptr<Session>& session() const { return seat->session(); }
};

// Thread-safe. Answers are copies of what holds at that moment.
class OwnHolds {
 public:
  // Told of every deadline that comes before all others. Set once, before use.
  void on_earlier_deadline(std::function<void(TimePoint)> ring) { ring_ = std::move(ring); }

  // Before the request is sent. From `deadline` on the attempt is to be removed, but not before
  // it is under way: a removal that overtook it would find nothing, and leave the hold to nobody.
  // `connection`: of its session now.
  void ask(const std::shared_ptr<OwnHold>& hold, TimePoint deadline,
           ConnectionNumber connection = 0);
  void sent(const std::string& token);
  // What was read of the breaks when the client's last connection was `read_at`. Holds that are
  // asked for from now on come after it.
  void saw(Breaks breaks, ConnectionNumber read_at);
  // Something was read that counts in this connection.
  [[nodiscard]] bool knows_breaks(ConnectionNumber connection) const;
  // Those of them that may have been broken before the breaks were read as `breaks`, in this
  // connection.
  [[nodiscard]] std::vector<std::string> doubtful(const std::vector<std::string>& tokens,
                                                  Breaks breaks, ConnectionNumber connection) const;
  // The same, for what was read last: it is likely that nobody broke any since.
  [[nodiscard]] std::vector<std::string> doubtful(const std::vector<std::string>& tokens,
                                                  ConnectionNumber connection) const;
  // This one was seen to be there, in this connection, after the breaks had been read as `breaks`.
  void seen(const std::string& token, Breaks breaks, ConnectionNumber connection);

  // Its request was done in this connection, if it was done at all. False: that is one too late,
  // and what it made expires.
  bool done_in(const std::string& token, ConnectionNumber connection);
  // It was granted. The deadline stays: an answer that was long under way proves no later
  // contact than that of its request.
  void granted(const std::string& token, Stamp stamp);
  // It has surely ended, or was surely not granted.
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
  // The tokens of those that are not live any more, and are there until they have been removed.
  [[nodiscard]] std::set<std::string> past_deadline() const;
  // That are past their deadlines; they count as expired from now on.
  std::vector<std::shared_ptr<OwnHold>> take_due(TimePoint now);
  // Is there one in this session, or asked for in it, that is not past its deadline?
  [[nodiscard]] bool any_live_in(const Session& session) const;
  [[nodiscard]] TimePoint next_deadline() const;

  // Moves the deadline to `sent` + its lease, or what its session is good for now if that is
  // less; unless it has passed meanwhile or the hold is gone. What is left then, counted from
  // `sent`.
  std::optional<Duration> renew(const std::string& token, TimePoint sent);

  // Its deadline is now: nobody wants it.
  void expire(const std::string& token);
  // Forgets everything.
  std::vector<std::shared_ptr<OwnHold>> take_all();
  // Forgets what is in this session.
  std::vector<std::shared_ptr<OwnHold>> take_all_in(const Session& session);

 private:
  [[nodiscard]] static Known known(const std::shared_ptr<OwnHold>& hold) {
    return {hold, hold->state, hold->stamp, hold->deadline, hold->seen_in};
  }
  void move_deadline(OwnHold& hold, TimePoint deadline);

  std::function<void(TimePoint)> ring_;
  mutable std::mutex mutex_;
  Breaks breaks_ = 0;  // the last that were read
  ConnectionNumber breaks_read_at_ = 0;
  std::map<std::string, std::shared_ptr<OwnHold>> holds_;  // by token
  std::map<Stamp, std::shared_ptr<OwnHold>> by_stamp_;
  // Of those that are not expired yet.
  std::set<std::pair<TimePoint, std::string>> deadlines_;
};

}  // namespace lockset::zookeeper
