// Attempts to acquire a set, and the waits between them.
//
// An attempt takes all locks of a set or none, in one statement. A waiter then waits for one of
// them, in the server's own queue, in a session that holds nothing: the server serves in turn. Once
// it has that lock, the next attempt takes the others, or gives it back.
//
// A user-level lock has one holder. A writer holds the lock of its key; a reader holds the key's
// lock with the number of its session, so a writer looks at as many locks as there are numbers.
// Each of the two takes its own lock first and looks at the other's then: they can't both be
// granted. The gate keeps them from both being refused.
//
// The server queues for one key at a time. So a set can be beaten again and again by clients that
// take its names one by one. A waiter that was beaten often takes the places of all its keys, which
// are locks as well, for a second at most. Others that come to wait for such a key wait for its
// place first, and hold nothing meanwhile. A place ends with its waiter's session.
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "backends/answers.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/session_backend.h"
#include "backends/mysql/sql.h"
#include "backends/mysql/waiting.h"
#include "core/time_math.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How often a waiter without a session looks.
constexpr milliseconds poll_without_session{100};
// A waiter that had its key, and found another one taken, so often, asks for the places.
constexpr int most_beats = 8;
// How long it keeps them, so that nobody stands still because one of its names is held for long;
// and how long others let it pass, whatever became of it.
constexpr seconds place_lasts{1};
constexpr const char* place_lasts_sql = "1";
constexpr const char* lets_pass_sql = "2";
// Nobody ever takes this one.
constexpr const char* no_place = "lockset no place";
// What the statement answers in place of the number of a key.
constexpr std::size_t token_is_over = 0;
constexpr std::size_t server_is_read_only = 999;
constexpr std::size_t place_is_taken = 1000;  // plus the number of the key
// What a wait answers besides 1: it has the key, and the places; a place was free; it was not.
constexpr int has_key_and_places = 2;
constexpr int place_was_free = 3;
constexpr int place_was_kept = 4;

// Each once, in order; exclusive if any of its names is.
Result<std::vector<LockKey>> keys_of(const AcquireRequest& request, const LockNames& names) {
  std::vector<LockKey> keys;
  const auto items = request.set->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool any_number = items[i].mode == Mode::read && request.permits[i] == max_permits;
    if (request.permits[i] != 1 && !any_number) {
      return Error{Errc::unsupported, "strategy=session counts no holds, and " +
                                          in_quotes(items[i].name) + " has " +
                                          std::to_string(request.permits[i]) + " permits"};
    }
    keys.push_back({names.key(items[i].name), any_number});
  }
  std::sort(keys.begin(), keys.end(), [](const LockKey& a, const LockKey& b) {
    return a.key != b.key ? a.key < b.key : !a.shared && b.shared;
  });
  keys.erase(std::unique(keys.begin(), keys.end(),
                         [](const LockKey& a, const LockKey& b) { return a.key == b.key; }),
             keys.end());
  return keys;
}

// The name of that key, for people.
std::string name_of(const AcquireRequest& request, const LockKey& key, const LockNames& names) {
  for (const LockRequest& item : request.set->items()) {
    if (names.key(item.name) == key.key) return item.name;
  }
  return {};
}

// SQL of one key, in a session with this number, where sessions with numbers below `readers` may
// hold it for reading.
class KeySql {
 public:
  KeySql(const LockKey& key, int number, int readers)
      : key_(key),
        readers_(readers),
        writes_(lock_literal(LockNames::write(key.key))),
        gate_(lock_literal(LockNames::gate(key.key))),
        place_(lock_literal(LockNames::place(key.key))),
        own_(key.shared ? lock_literal(LockNames::read(key.key, number)) : writes_) {}

  // True if it was granted, and is held then. It does not wait, but for others that look.
  [[nodiscard]] std::string take() const {
    if (key_.shared) return gated(and_if("GET_LOCK(" + own_ + ",0)=1", no_writer()));
    const std::string take = "GET_LOCK(" + own_ + ",0)=1";
    return readers_ == 0 ? take : gated(and_if(take, no_reader()));
  }
  // The same where this session has waited for it, and holds its own lock already.
  [[nodiscard]] std::string check() const {
    return key_.shared || readers_ == 0 ? "TRUE" : gated("IF(" + no_reader() + ",1,0)");
  }
  [[nodiscard]] std::string give_back() const { return "RELEASE_LOCK(" + own_ + ")"; }

  [[nodiscard]] std::string place_is_free() const { return "IS_FREE_LOCK(" + place_ + ")"; }
  [[nodiscard]] std::string take_place() const { return "GET_LOCK(" + place_ + ",0)=1"; }
  // Whether or not it has it.
  [[nodiscard]] std::string leave_place() const { return "IFNULL(RELEASE_LOCK(" + place_ + "),0)"; }
  // Waits until the place is free, but not for long.
  [[nodiscard]] std::string let_pass() const {
    return "IF(GET_LOCK(" + place_ + "," + lets_pass_sql + ")=1,3+0*RELEASE_LOCK(" + place_ +
           "),4)";
  }

  // The same as wait(), but not for long, and it holds nothing if it answers 0.
  [[nodiscard]] std::string wait_shortly() const {
    const std::string turn = "GET_LOCK(" + writes_ + "," + place_lasts_sql + ")=1";
    if (key_.shared) {
      return "IF(" + turn + ",IF(GET_LOCK(" + own_ + ",0)=1,1,0)+0*RELEASE_LOCK(" + writes_ +
             "),0)";
    }
    std::string drained = "TRUE";
    for (int i = 0; i < readers_; ++i) {
      const std::string reader = lock_literal(LockNames::read(key_.key, i));
      drained += " AND IF(GET_LOCK(" + reader + "," + place_lasts_sql + ")=1,1+0*RELEASE_LOCK(" +
                 reader + "),0)";
    }
    return "IF(" + turn + ",IF(" + drained + ",1,0*RELEASE_LOCK(" + writes_ + ")),0)";
  }
  // Waits; 1 if it has this session's own lock then.
  [[nodiscard]] std::string wait() const {
    const std::string turn = "GET_LOCK(" + writes_ + "," + for_ever + ")=1";
    if (key_.shared) {
      return "IF(" + turn + ",IF(GET_LOCK(" + own_ + ",0)=1,1,0)+0*RELEASE_LOCK(" + writes_ +
             "),0)";
    }
    // No new reader comes while it has the writer's lock.
    std::string drained;
    for (int i = 0; i < readers_; ++i) {
      const std::string reader = lock_literal(LockNames::read(key_.key, i));
      drained +=
          "+0*IF(GET_LOCK(" + reader + "," + for_ever + ")=1,RELEASE_LOCK(" + reader + "),0)";
    }
    return "IF(" + turn + ",1" + drained + ",0)";
  }

 private:
  static constexpr const char* for_ever = "31536000";
  // Others hold a gate only while the server computes.
  static constexpr const char* gate_within = "10";

  [[nodiscard]] std::string no_writer() const { return "IS_FREE_LOCK(" + writes_ + ")"; }
  [[nodiscard]] std::string no_reader() const {
    std::string all;
    for (int i = 0; i < readers_; ++i) {
      all += (i > 0 ? " AND " : "") +
             ("IS_FREE_LOCK(" + lock_literal(LockNames::read(key_.key, i)) + ")");
    }
    return all;
  }
  [[nodiscard]] std::string and_if(const std::string& take, const std::string& unless) const {
    return "IF(" + take + ",IF(" + unless + ",1,0*RELEASE_LOCK(" + own_ + ")),0)";
  }
  [[nodiscard]] std::string gated(const std::string& what) const {
    return "(GET_LOCK(" + gate_ + "," + gate_within + ")=1 AND " + what + "+0*RELEASE_LOCK(" +
           gate_ + ")=1)";
  }

  const LockKey key_;
  const int readers_;
  const std::string writes_, gate_, place_, own_;
};

// Takes all keys or leaves none, and draws from the counter once it has them. `have`: this session
// has waited for the first one, and holds it already. `lets_pass`: waiters that have the places.
std::string acquire_sql(std::span<const LockKey> keys, bool have, bool lets_pass, int number,
                        int readers, const std::string& token, const std::string& space) {
  std::string open;
  std::string close;
  for (std::size_t i = 1; i <= keys.size(); ++i) {
    const KeySql key(keys[i - 1], number, readers);
    const bool held = have && i == 1;
    const std::string index = std::to_string(i);
    open += "IF(" + (held ? key.check() : key.take()) + ",IFNULL(";
    std::string refused = "NULLIF(LAST_INSERT_ID(" + index + ")," + index + ")";
    if (held) refused = "IF(" + key.give_back() + "," + refused + "," + refused + ")";
    close = ",IF(" + key.give_back() + ",NULL,NULL))," + refused + ")" + close;
  }
  for (std::size_t i = keys.size(); lets_pass && i > 0; --i) {
    const std::string index = std::to_string(place_is_taken + i);
    open.insert(0, "IF(" + KeySql(keys[i - 1], number, readers).place_is_free() + ",");
    close += ",NULLIF(LAST_INSERT_ID(" + index + ")," + index + "))";
  }
  const std::string draw = "IF(IS_USED_LOCK(" + lock_literal("lockset " + token) +
                           ") IS NOT NULL,{counter},NULLIF(LAST_INSERT_ID(0),0))";
  return filled_in("SELECT CONCAT(IFNULL(IF({writable}," + open + draw + close +
                       ",NULLIF(LAST_INSERT_ID(999),999)),'-'),' ',LAST_INSERT_ID(),' ',{now})",
                   space);
}

// "30124473684328448 0 1795558570711248", "- 2 1795558570711248"
struct Answer {
  std::optional<std::int64_t> counter;  // set: granted
  std::size_t refused = 0;
  std::int64_t now_us = 0;

  explicit Answer(const Reply& reply) {
    std::string_view text = reply.rows.size() == 1 ? reply.text(0) : std::string_view();
    const auto next = [&]() -> std::optional<std::int64_t> {
      const std::string_view field = text.substr(0, text.find(' '));
      text.remove_prefix(std::min(field.size() + 1, text.size()));
      std::int64_t value = 0;
      const auto read = std::from_chars(field.data(), field.data() + field.size(), value);
      if (read.ec != std::errc()) return {};
      return value;
    };
    counter = next();
    refused = static_cast<std::size_t>(next().value_or(0));
    now_us = next().value_or(0);
  }
};

// Readable once a stop is requested.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop) : asked_(stop, [this] { interrupt_.set(); }) {}
  [[nodiscard]] int fd() const noexcept { return interrupt_.fd(); }

 private:
  server::Interrupt interrupt_;
  std::stop_callback<std::function<void()>> asked_;
};

}  // namespace

class SessionBackend::Ticket : public WaitTicket {
 public:
  explicit Ticket(std::shared_ptr<Slots> slots) : slots_(std::move(slots)) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  // The wait was not ended: its session is closed, and the server forgets it.
  ~Ticket() override {
    if (slot != nullptr) slots_->abandon(slot);
  }

  // The session leaves the ticket.
  Slot* let_go() {
    state = State::none;
    at_place = false;
    return std::exchange(slot, nullptr);
  }
  [[nodiscard]] bool has_places() const {
    return slot != nullptr && session_of(*slot).has_places();
  }
  // What the session has to wait with. REQUIRES: it holds nothing, but the places perhaps.
  std::string wait_sql(int readers, TimePoint by) {
    Session& session = session_of(*slot);
    const KeySql sql(key, session.number(), readers);
    if (at_place) return "SELECT " + sql.let_pass();
    std::string take = "TRUE";
    if (!session.has_places() && beaten >= most_beats) {
      for (const LockKey& each : keys) take += " AND " + KeySql(each, 0, 0).take_place();
      session.has_places(keys);
      places_until = BootClock::now() + place_lasts;
      beaten = 0;
    } else if (session.has_places() && BootClock::now() >= places_until) {
      session.leave_places(by);
    }
    if (!session.has_places()) return "SELECT " + sql.wait();
    std::string leave;
    for (const LockKey& each : keys) leave += KeySql(each, 0, 0).leave_place() + "+";
    return "SELECT IF(" + take + " AND " + sql.wait_shortly() + ",2,0*(" + leave + "0)+" +
           sql.wait() + ")";
  }
  // Looks whether the wait has ended. Never waits longer than until `by`.
  void look(TimePoint by, int also = -1) {
    if (state != State::waits) return;
    Session& session = session_of(*slot);
    const Result<Reply> answer = session.receive(Sent::reading, by, also);
    const std::int64_t what = answer && answer->rows.size() == 1 ? answer->number(0) : 0;
    if (what == 1 || what == has_key_and_places) {
      if (what == 1) session.has_places({});
      state = State::has;
    } else if (what == place_was_free || what == place_was_kept) {
      has_let_pass = what == place_was_kept;
      slots_->give_back(let_go());
    } else if (answer || session.outcome() != Session::Outcome::late) {
      // It may have been cancelled just after it was served. It holds nothing else.
      if (session.outcome() != Session::Outcome::broken) {
        static_cast<void>(session.unlock_all(later(std::max(by, BootClock::now()), seconds(1))));
      }
      slots_->give_back(let_go());
    }
  }

  enum class State { none, waits, has };
  State state = State::none;
  Slot* slot = nullptr;       // taken, unless the state is none
  LockKey key;                // that it waits for, or has
  std::vector<LockKey> keys;  // of the whole set
  int beaten = 0;             // how often it had its key and found another one taken
  TimePoint places_until{};
  bool at_place = false;      // it waits for the place of that key
  bool has_let_pass = false;  // somebody, and for long enough: the next attempt lets nobody pass

 private:
  const std::shared_ptr<Slots> slots_;
};

Result<AcquireOutcome> SessionBackend::try_acquire(const AcquireRequest& request) {
  const Result<std::vector<LockKey>> keys = keys_of(request, names_);
  if (!keys) return keys.error();
  auto ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  if (slots_->knows(request.token)) {
    if (const auto twin = resolve(request.token, request.by); twin && *twin) {
      return AcquireOutcome(**twin);
    }
  }
  if (Status there = connect_main(request.by); !there) return there.error();
  if (ticket) ticket->look(BootClock::now());
  if (ticket && ticket->state != Ticket::State::none) {
    const auto same = std::find_if(keys->begin(), keys->end(), [&](const LockKey& key) {
      return key.key == ticket->key.key && key.shared == ticket->key.shared;
    });
    // It was asked for in another mode, by another configuration.
    if (same == keys->end()) stop_waiting(*ticket, request.by);
  }
  for (const Stamp stamp : slots_->expired(BootClock::now(), *keys)) {
    const Result<bool> ended = slots_->end(stamp, request.by);
    if (!ended && !ended.error().may_have_applied()) return ended.error();
  }
  return ask(request, *keys, std::move(ticket));
}

Result<AcquireOutcome> SessionBackend::ask(const AcquireRequest& request,
                                           const std::vector<LockKey>& keys,
                                           std::shared_ptr<Ticket> ticket) {
  SettledPtr now = settled();
  // The configuration that was settled is the present one as long as the token is held, and that is
  // looked at with the grant.
  if (now == nullptr || now->version != request.config_version) {
    Result<SettledPtr> loaded = load_settled(request.by);
    if (!loaded) return loaded.error();
    if ((*loaded)->version != request.config_version) return AcquireOutcome(Stale{});
    now = *std::move(loaded);
    if (!now->alive) {
      loaded = settle({}, request.by);
      if (!loaded) return loaded.error();
      now = *std::move(loaded);
      if (now->version != request.config_version) return AcquireOutcome(Stale{});
    }
  }
  Slot* slot = nullptr;
  bool have = false;
  if (ticket && ticket->state == Ticket::State::has) {
    slot = ticket->let_go();
    have = true;
  } else if (const std::optional<LockKey> own = slots_->excluded(keys)) {
    const Result<SettledPtr> loaded = load_settled(request.by);
    if (!loaded) return loaded.error();
    if ((*loaded)->version != request.config_version) return AcquireOutcome(Stale{});
    return busy(request, *own, std::move(ticket));
  }
  if (slot == nullptr) {
    const Result<std::optional<Slot*>> taken = slots_->take_for(keys, request.lease, request.by);
    if (!taken) return taken.error();
    if (!*taken) {
      // This client holds some of it in every session that it may have.
      const std::optional<LockKey> mine = slots_->excluded(keys);
      return busy(request, mine.value_or(keys.front()), std::move(ticket));
    }
    slot = **taken;
  }
  Session& session = session_of(*slot);
  std::vector<LockKey> wanted = have ? keys : slots_->missing(*slot, keys);
  // What it has waited for comes first: whatever is refused then gives it back, too.
  if (have) {
    std::stable_partition(wanted.begin(), wanted.end(),
                          [&](const LockKey& key) { return key.key == ticket->key.key; });
  }
  const bool reads =
      std::any_of(wanted.begin(), wanted.end(), [](const LockKey& k) { return k.shared; });
  // What is left to be done where an attempt ends before it was sent.
  const auto give_up = [&](Error error) -> Result<AcquireOutcome> {
    if (have && session.outcome() != Session::Outcome::broken &&
        !session.unlock({&wanted.front(), 1}, request.by)) {
      session.give_up();
    } else if (session.outcome() != Session::Outcome::broken) {
      static_cast<void>(session.leave_places(request.by));
    }
    slots_->give_back(slot);
    return error;
  };
  // One that only tries is not told that a free name is taken; who has the places passes.
  const bool lets_pass =
      request.will_wait && !have && !(ticket && (ticket->has_places() || ticket->has_let_pass));
  if (ticket) ticket->has_let_pass = false;
  if (!slots_->keep_for(*slot, request.lease, request.by)) {
    return give_up({Errc::unavailable, store_.options().shown() + ": no answer in time"});
  }
  for (;;) {
    if (BootClock::now() >= request.by) {
      return give_up({Errc::unavailable, store_.options().shown() + ": no answer in time"});
    }
    if (reads) {
      Result<SettledPtr> numbered = number_session(session, now, request.by);
      if (!numbered) return give_up(numbered.error());
      now = *std::move(numbered);
    }
    if (now->version != request.config_version) {
      static_cast<void>(give_up({}));
      return AcquireOutcome(Stale{});
    }
    bool sent = false;
    if (wanted.size() == 1 && !wanted[0].shared && now->readers == 0 && !have) {
      const std::string key = LockNames::write(wanted[0].key);
      const std::string place = lets_pass ? LockNames::place(wanted[0].key) : no_place;
      sent = session.send(acquire_,
                          std::array<std::string, 4>{place, key, "lockset " + now->token, key},
                          request.by);
    } else {
      sent = session.send(acquire_sql(wanted, have, lets_pass, session.number(), now->readers,
                                      now->token, store_.options().space),
                          request.by);
    }
    if (!sent) {
      return give_up({Errc::unavailable, store_.options().shown() + ": no answer in time"});
    }
    const Result<Reply> reply = session.receive(Sent::change, request.by);
    if (!reply) {
      switch (session.outcome()) {
        case Session::Outcome::broken:
          break;  // whatever it was granted ends with it
        case Session::Outcome::late:
          session.undo_when_answered(wanted);
          break;
        case Session::Outcome::answered:
          // It has failed half way.
          if (!session.unlock(wanted, request.by) || !session.leave_places(request.by)) {
            session.give_up();
          }
          break;
      }
      slots_->give_back(slot);
      return reply.error();
    }
    const Answer answer(*reply);
    if (answer.counter) {
      const Result<std::optional<Stamp>> stamp =
          stamp_from(*now, *answer.counter, request.min_stamp, request.by);
      if (!stamp || !*stamp) {
        if (!session.unlock(wanted, request.by)) session.give_up();
        have = false;
        if (!stamp) return give_up(stamp.error());
        Result<SettledPtr> again = settle({}, request.by);
        if (!again) return give_up(again.error());
        now = *std::move(again);
        continue;
      }
      // If that fails, the session is closed, and what was granted has ended.
      if (!session.leave_places(request.by)) {
        slots_->give_back(slot);
        return Error{Errc::unavailable, store_.options().shown() + ": the connection broke"};
      }
      Grant grant;
      grant.stamp = **stamp;
      grant.lease = request.lease;
      grant.store_time_us = answer.now_us;
      clock_offset_us_ = grant.store_time_us - us(BootClock::now().time_since_epoch());
      slots_->add({.stamp = grant.stamp,
                   .token = request.token,
                   .set = *request.set,
                   .owner = *request.owner,
                   .keys = keys,
                   .slot = slot,
                   .session = session.id(),
                   .ends = later(BootClock::now(), request.lease),
                   .store_time_us = grant.store_time_us});
      slots_->give_back(slot);
      if (ticket) stop_waiting(*ticket, request.by);
      return AcquireOutcome(std::move(grant));
    }
    if (answer.refused == server_is_read_only) return give_up(read_only());
    // What it has waited for is given back by now.
    const bool had = std::exchange(have, false);
    if (answer.refused == token_is_over) {
      if (!session.leave_places(request.by)) {
        return give_up({Errc::unavailable, store_.options().shown() + ": the connection broke"});
      }
      Result<SettledPtr> again = settle({}, request.by);
      if (!again) return give_up(again.error());
      now = *std::move(again);
      continue;
    }
    const bool behind = answer.refused > place_is_taken;
    const std::size_t index = answer.refused - (behind ? place_is_taken : 0);
    const LockKey key = wanted.at(std::clamp<std::size_t>(index, 1, wanted.size()) - 1);
    if (had) ++ticket->beaten;
    // A waiter goes on in the session that has answered, if nothing is held there.
    if (request.will_wait && (!ticket || ticket->state == Ticket::State::none)) {
      if (!ticket) ticket = std::make_shared<Ticket>(slots_);
      ticket->keys = keys;
      ticket->at_place = behind;
      if (slots_->begins_to_wait(*slot)) {
        ticket->slot = std::exchange(slot, nullptr);
        begin_wait(*ticket, key, request.by);
      }
    }
    if (slot != nullptr) {
      static_cast<void>(session.leave_places(request.by));
      slots_->give_back(slot);
    }
    return busy(request, key, std::move(ticket));
  }
}

bool SessionBackend::wait_in_spare_session(Ticket& ticket, const LockKey& key, TimePoint by) {
  ticket.slot = slots_->take_empty(by);
  if (ticket.slot == nullptr) return false;
  if (!slots_->begins_to_wait(*ticket.slot)) {
    slots_->give_back(ticket.let_go());
    return false;
  }
  begin_wait(ticket, key, by);
  return ticket.state == Ticket::State::waits;
}

Result<AcquireOutcome> SessionBackend::busy(const AcquireRequest& request, const LockKey& key,
                                            std::shared_ptr<Ticket> ticket) {
  Busy found;
  found.name = name_of(request, key, names_);
  if (const auto mine = slots_->on_key(key.key)) {
    found.holder = mine->stamp;
    for (const LockRequest& item : mine->set.items()) {
      if (item.name == found.name) found.mode = item.mode;
    }
    found.holder_label = mine->owner.label;
    found.retry_after = std::max<Duration>(mine->ends - BootClock::now(), Duration::zero());
  } else if (!request.ticket) {
    // As far as its client has listed it.
    const Result<Reply> other =
        store_.run(CallText(store_.name("_session_holder")).bytes(LockNames::write(key.key)).str(),
                   Sent::reading, request.by);
    if (other && !other->rows.empty()) {
      found.holder = Stamp{other->number(0)};
      found.mode = mode_of(other->number(1));
      found.holder_label = other->text(2);
    }
  }
  if (!request.will_wait) return AcquireOutcome(std::move(found));
  if (!ticket) ticket = std::make_shared<Ticket>(slots_);
  if (ticket->state == Ticket::State::none && !wait_in_spare_session(*ticket, key, request.by)) {
    found.retry_after =
        std::min<Duration>(found.retry_after.value_or(poll_without_session), poll_without_session);
  }
  found.ticket = std::move(ticket);
  return AcquireOutcome(std::move(found));
}

// Sent before the busy answer is given: whatever is released later finds the waiter in the queue.
void SessionBackend::begin_wait(Ticket& ticket, const LockKey& key, TimePoint by) {
  ticket.key = key;
  Session& session = session_of(*ticket.slot);
  SettledPtr now = settled();
  bool sent = now != nullptr;
  if (sent && key.shared) sent = number_session(session, now, by).ok();
  if (sent) sent = session.send(ticket.wait_sql(now->readers, by), by);
  if (sent) {
    ticket.state = Ticket::State::waits;
  } else {
    session.give_up();
    slots_->give_back(ticket.let_go());
  }
}

Status SessionBackend::await_change(WaitTicket& ticket, TimePoint until, std::stop_token stop) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine == nullptr) return foreign_ticket();
  if (mine->state == Ticket::State::none) {
    sleep_until(until, stop);
    return {};
  }
  const StopSignal signal(stop);
  mine->look(until, signal.fd());
  return {};
}

// The answer, or the end of the connection, makes its socket readable.
bool SessionBackend::has_changed(WaitTicket& ticket, TimePoint /*since*/) {
  const auto* mine = dynamic_cast<const Ticket*>(&ticket);
  if (mine == nullptr || mine->state != Ticket::State::waits) return false;
  pollfd look{session_of(*mine->slot).fd(), POLLIN, 0};
  return ::poll(&look, 1, 0) != 0;
}

void SessionBackend::end_wait(WaitTicket& ticket, TimePoint by) {
  auto* mine = dynamic_cast<Ticket*>(&ticket);
  if (mine != nullptr) stop_waiting(*mine, by);
}

void SessionBackend::stop_waiting(Ticket& ticket, TimePoint by) {
  ticket.look(BootClock::now());
  if (ticket.state == Ticket::State::none) return;
  Session& session = session_of(*ticket.slot);
  if (ticket.state == Ticket::State::waits) {
    // It is told to stop over another connection. It may have been served just now.
    if (store_.run("KILL QUERY " + std::to_string(session.id()), Sent::reading, by)) {
      ticket.look(by);
    }
    // It answers that it was cancelled: the session is free, and the ticket has let it go.
    if (ticket.state == Ticket::State::none) return;
  }
  if (ticket.state != Ticket::State::has || !session.unlock({&ticket.key, 1}, by))
    session.give_up();
  slots_->give_back(ticket.let_go());
}

}  // namespace lockset::mysql
