// The sessions of one client, and the holds in them (strategy=session).
//
// A server's session lock belongs to a session, not to a thread: the server would grant it again to
// the same session. So a key is held at most once in a session, and a hold whose set
// conflicts with what a session holds is asked for in another one. Reads of one client that share a
// key in one session share its lock there.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backends/server/carrier.h"
#include "backends/server/interrupt.h"
#include "lockset/backend.h"

namespace lockset::server {

class Slot;

// A hold of this client.
struct SessionHold {
  Stamp stamp;
  Token token;
  LockSet set;
  Owner owner;
  std::vector<LockKey> keys;  // of the set, in order, without duplicates
  Slot* slot = nullptr;
  std::int64_t session = 0;  // the number that the server gave the session
  TimePoint ends{};
  std::int64_t store_time_us = 0;  // of the grant
  bool listed = false;             // published since
};

// One session. Its members are guarded by the mutex of the Slots, except that the thread that has
// taken it uses `session`.
class Slot {
 public:
  std::unique_ptr<Carrier> session;
  bool taken = true;
  bool stalled = false;  // it owes an answer
  bool waits = false;    // a waiter has taken it: the watcher does not look at it
  struct Use {
    int holds = 0;
    bool shared = false;
  };
  std::map<std::int64_t, Use> keys;
  std::set<Stamp> holds;
  Duration bound{};  // the server ends it after this time without a call
  TimePoint used{};
};

// Thread-safe.
class Slots {
 public:
  using Open = std::function<Result<std::unique_ptr<Carrier>>(TimePoint by)>;

  // `open` connects a session; `where` names the store, for people; at most `most` sessions.
  Slots(Open open, std::string where, std::size_t most);
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;
  ~Slots() = default;  // REQUIRES: none is taken

  // Called for each hold that ended in the store without this client's doing. Empty: for none. When
  // this returns, no earlier one is being called.
  void tell_losses(std::function<void(Stamp)> lost);

  // Unset: there is none for these keys, because this client holds some of them itself and may open
  // no further session.
  Result<std::optional<Slot*>> take_for(std::span<const LockKey> keys, Duration lease,
                                        TimePoint by);
  // Any that is free now, whatever it holds. Null: there is none.
  Slot* take_free();
  // One without any hold, for a wait. Null: there is none to spare.
  Slot* take_empty(TimePoint by);
  // The session of this hold, once no other thread uses it. Null: there is no such hold (any more).
  Result<Slot*> take_of(Stamp stamp, TimePoint by);
  // As it was before; closes it if its session is over.
  void give_back(Slot* slot);
  // For a ticket that is destroyed while it waits: ends the session.
  void abandon(Slot* slot);
  // Makes the server end the session no earlier than that after its last call. REQUIRES: taken.
  bool keep_for(Slot& slot, Duration lease, TimePoint by);

  // REQUIRES of these: the slot is taken.
  // True: from now on a waiter's. One is left for those who do not wait.
  [[nodiscard]] bool begins_to_wait(Slot& slot);
  // Those of `keys` that the slot does not hold yet.
  std::vector<LockKey> missing(const Slot& slot, std::span<const LockKey> keys);
  void add(SessionHold hold);
  // Removes the hold and returns the keys to unlock. Unset: there is none.
  std::optional<std::vector<LockKey>> remove(Stamp stamp);

  // Ends the hold: true if this call did. An error: its session does not answer.
  Result<bool> end(Stamp stamp, TimePoint by);
  // Ends each of these, by one call for each of their sessions.
  Result<std::set<Stamp>> end_all(const std::set<Stamp>& stamps, TimePoint by);

  // Unset: no hold of this client.
  [[nodiscard]] std::optional<bool> belongs_to(Stamp stamp, std::string_view app);
  [[nodiscard]] bool knows(const Token& token);
  [[nodiscard]] std::optional<SessionHold> find(Stamp stamp);
  [[nodiscard]] std::optional<SessionHold> find(const Token& token);
  // A hold of this client with that key which has not expired.
  [[nodiscard]] std::optional<SessionHold> on_key(std::int64_t key);
  // The first of these keys that a hold of this client excludes.
  [[nodiscard]] std::optional<LockKey> excluded(std::span<const LockKey> keys);
  [[nodiscard]] std::vector<Stamp> expired(TimePoint now, std::span<const LockKey> keys);
  [[nodiscard]] std::vector<SessionHold> all();
  void extend(Stamp stamp, TimePoint ends);
  void listed(std::span<const Stamp> stamps);
  [[nodiscard]] bool any_unlisted();
  void tell_loss(Stamp stamp) { tell({stamp}); }
  // Closes all sessions. REQUIRES: no call is under way; tickets may still be destroyed.
  void close();

  // For the watcher. The descriptors of the sessions, and whether each one owes an answer.
  struct Watched {
    Slot* slot;
    int fd;
    bool stalled;
  };
  [[nodiscard]] std::vector<Watched> watched();
  // Closes those that are over, receives answers that are owed, closes those that are empty and
  // were not used for a while. Returns when to look again at the latest.
  TimePoint tend(TimePoint now);

  // Readable when the watcher should look. Thread-safe.
  [[nodiscard]] int bell() const noexcept { return bell_.fd(); }
  void answer_bell() noexcept;
  // The watcher sleeps until then.
  void sleeps_until(TimePoint until);
  void end_tending();

 private:
  void ring_if_earlier(TimePoint at);  // REQUIRES: mutex_
  Result<Slot*> open(Duration lease, TimePoint by);
  [[nodiscard]] static bool fits(const Slot& slot, std::span<const LockKey> keys);
  // REQUIRES: mutex_. A broken one shows at its next use in any case.
  [[nodiscard]] static bool looks_sound(const Slot& slot, TimePoint now);
  // Takes it out of the list: its holds are gone. REQUIRES: mutex_.
  std::unique_ptr<Slot> drop(Slot* slot, std::vector<Stamp>& lost);
  std::optional<std::vector<LockKey>> remove_locked(Stamp stamp);
  void tell(const std::vector<Stamp>& lost);

  const Open open_;
  const std::string where_;
  const std::size_t most_;
  Interrupt bell_;
  std::mutex tell_mutex_;
  std::function<void(Stamp)> lost_;  // guarded by tell_mutex_
  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  std::list<std::unique_ptr<Slot>> slots_;
  std::size_t opening_ = 0;
  std::unordered_map<Stamp, SessionHold> holds_;
  std::map<Token, Stamp> tokens_;
  std::unordered_map<std::int64_t, std::set<Stamp>> keys_;
  bool closed_ = false;
  bool added_ = false;  // a hold, since the watcher last looked
  TimePoint next_look_ = TimePoint::max();
};

}  // namespace lockset::server
