// Attempts to acquire a set, and the waits between them.
//
// An attempt takes all locks of a set or none. A waiter then waits for one of them, in the server's
// own queue, in a session that holds nothing: the server serves in turn. Once it has that lock, the
// next attempt takes the others, or gives it back. If it was beaten to them often, it asks for the
// place that others let pass (session_line.h).
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "backends/answers.h"
#include "backends/postgresql/errors.h"
#include "backends/postgresql/reply.h"
#include "backends/postgresql/session_backend.h"
#include "core/time_math.h"

namespace lockset::postgresql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// How often a waiter without a session looks.
constexpr milliseconds poll_without_session{100};
// How often a waiter got one lock and found another taken, before it asks for the place in the
// line.
constexpr int most_beats = 8;

// Each once, in order; exclusive if any of its names is.
Result<std::vector<LockKey>> keys_of(const AcquireRequest& request, const std::string& space) {
  std::vector<LockKey> keys;
  const auto items = request.set->items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool any_number = items[i].mode == Mode::read && request.permits[i] == max_permits;
    if (request.permits[i] != 1 && !any_number) {
      return Error{Errc::unsupported, "strategy=session counts no holds, and " +
                                          in_quotes(items[i].name) + " has " +
                                          std::to_string(request.permits[i]) + " permits"};
    }
    keys.push_back({session_key(space, items[i].name), any_number});
  }
  std::sort(keys.begin(), keys.end(), [](const LockKey& a, const LockKey& b) {
    return a.key != b.key ? a.key < b.key : !a.shared && b.shared;
  });
  keys.erase(std::unique(keys.begin(), keys.end(),
                         [](const LockKey& a, const LockKey& b) { return a.key == b.key; }),
             keys.end());
  return keys;
}

std::string_view next_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\x1F'), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

std::int64_t next_number(std::string_view& rest) {
  const std::string_view field = next_field(rest);
  std::int64_t number = 0;
  std::from_chars(field.data(), field.data() + field.size(), number);
  return number;
}

// The name of that key, for people.
std::string name_of(const AcquireRequest& request, const LockKey& key, const std::string& space) {
  for (const LockRequest& item : request.set->items()) {
    if (session_key(space, item.name) == key.key) return item.name;
  }
  return {};
}

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
  Ticket(std::shared_ptr<Slots> slots, std::shared_ptr<SessionLine> line)
      : slots_(std::move(slots)), line_(std::move(line)) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  // The wait was not ended: its session is closed, and the server forgets it.
  ~Ticket() override {
    if (slot != nullptr) slots_->abandon(slot);
    leave_line();
  }

  void leave_line() {
    if (line_->leave(this)) slots_->end_tending();
  }

  // The session leaves the ticket.
  Slot* let_go() {
    state = State::none;
    return std::exchange(slot, nullptr);
  }
  // Looks whether the wait has ended. Never waits longer than until `by`.
  void look(TimePoint by, int also = -1) {
    if (state != State::waits) return;
    const Result<Session::Rows> answer = session_of(*slot).receive(Sent::reading, by, also);
    if (answer) {
      state = State::has;
    } else if (slot->session->outcome() != Session::Outcome::late) {
      // It may have been cancelled just after it was served, and a session-level lock outlives
      // that. It holds nothing else.
      static_cast<void>(session_of(*slot).run("SELECT pg_catalog.pg_advisory_unlock_all()",
                                              Sent::reading, later(by, seconds(1))));
      slots_->give_back(let_go());
    }
  }

  enum class State { none, waits, has };
  State state = State::none;
  Slot* slot = nullptr;  // taken, unless the state is none
  LockKey key;           // that it waits for, or has
  int beaten = 0;        // how often it had its key and found another one taken

 private:
  const std::shared_ptr<Slots> slots_;
  const std::shared_ptr<SessionLine> line_;
};

Result<AcquireOutcome> SessionBackend::try_acquire(const AcquireRequest& request) {
  const Result<std::vector<LockKey>> keys = keys_of(request, store_.options().space);
  if (!keys) return keys.error();
  auto ticket = std::dynamic_pointer_cast<Ticket>(request.ticket);
  if (slots_->knows(request.token)) {
    if (const auto twin = resolve(request.token, request.by); twin && *twin) {
      return AcquireOutcome(**twin);
    }
  }
  if (Status there = connect_main(request.by); !there) return there.error();
  if (ticket) ticket->look(BootClock::now());
  if (auto behind = behind_line(request, *keys, ticket)) return *std::move(behind);
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
  Slot* slot = nullptr;
  std::size_t have = 0;
  if (ticket && ticket->state == Ticket::State::has) {
    slot = ticket->let_go();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i].key == ticket->key.key) have = i + 1;
    }
  } else if (const std::optional<LockKey> own = slots_->excluded(keys)) {
    // Only the configuration has to be compared, over whatever session is there.
    if (Slot* const any = slots_->take_free()) {
      const std::array<std::string, 5> arguments{"{}", "{}", "-1",
                                                 std::to_string(request.config_version), "0"};
      const Result<Session::Rows> answer =
          session_of(*any).call(acquire_, arguments, Sent::reading, request.by);
      const bool stale = answer.ok() && PQgetvalue(answer->get(), 0, 0)[0] == 'S';
      slots_->give_back(any);
      if (!answer) return answer.error();
      if (stale) return AcquireOutcome(Stale{});
      return busy(request, *own, {}, std::move(ticket));
    }
  }
  if (slot == nullptr) {
    const Result<std::optional<Slot*>> taken = slots_->take_for(keys, request.lease, request.by);
    if (!taken) return taken.error();
    if (!*taken) {
      // This client holds some of it in every session that it may have.
      const std::optional<LockKey> mine = slots_->excluded(keys);
      return busy(request, mine.value_or(keys.front()), {}, std::move(ticket));
    }
    slot = **taken;
  }
  Session& session = session_of(*slot);
  const bool kept = slots_->keep_for(*slot, request.lease, request.by);
  const std::vector<LockKey> wanted = have > 0 ? keys : slots_->missing(*slot, keys);
  const std::array<std::string, 5> arguments{
      array_of_keys(wanted), array_of_shared(wanted), std::to_string(have),
      std::to_string(request.config_version), std::to_string(request.min_stamp.value)};
  std::optional<Result<Session::Rows>> answer;
  if (kept && session.send(acquire_, arguments, request.by)) {
    answer = session.receive(Sent::change, request.by);
  }
  if (!answer || !*answer) {
    Error error = answer
                      ? answer->error()
                      : error_from({}, "no answer in time", store_.options().shown, Sent::reading);
    switch (session.outcome()) {
      case Session::Outcome::broken:
        break;  // whatever it was granted ends with it
      case Session::Outcome::late:
        if (answer) session.undo_when_answered(wanted);
        // Nothing was sent, so the waiter's lock is held still.
        if (!answer && have > 0) session.give_up();
        break;
      case Session::Outcome::answered:
        // It has failed half way, and session-level locks outlive their transaction.
        if (!session.unlock(wanted, request.by)) session.give_up();
        break;
    }
    slots_->give_back(slot);
    return error;
  }
  std::string_view text = PQgetvalue((*answer)->get(), 0, 0);
  const std::string_view kind = next_field(text);
  if (kind == "G") {
    Grant grant;
    grant.stamp = Stamp{next_number(text)};
    grant.lease = request.lease;
    grant.store_time_us = next_number(text);
    clock_offset_us_ = grant.store_time_us - boot_us(BootClock::now());
    slots_->add({.stamp = grant.stamp,
                 .token = request.token,
                 .set = *request.set,
                 .owner = *request.owner,
                 .keys = keys,
                 .slot = slot,
                 .session = session.pid(),
                 .ends = later(BootClock::now(), request.lease),
                 .store_time_us = grant.store_time_us});
    slots_->give_back(slot);
    if (ticket) stop_waiting(*ticket, request.by);
    return AcquireOutcome(std::move(grant));
  }
  if (kind == "S") {
    slots_->give_back(slot);
    return AcquireOutcome(Stale{});
  }
  const auto index = static_cast<std::size_t>(next_number(text));
  const LockKey key = wanted.at(std::clamp<std::size_t>(index, 1, wanted.size()) - 1);
  const Stamp holder{next_number(text)};
  const Mode mode = mode_from(next_field(text));
  if (have > 0 && ++ticket->beaten >= most_beats && line_->ask(ticket.get(), keys)) {
    slots_->end_tending();
  }
  // A waiter goes on in the session that has answered, if nothing is held there.
  if (request.will_wait && (!ticket || ticket->state == Ticket::State::none)) {
    if (!ticket) ticket = std::make_shared<Ticket>(slots_, line_);
    if (slots_->begins_to_wait(*slot)) {
      ticket->slot = std::exchange(slot, nullptr);
      begin_wait(*ticket, key, request.by);
    }
  }
  if (slot != nullptr) slots_->give_back(slot);
  return busy(request, key, {holder, mode, std::string(text)}, std::move(ticket));
}

std::optional<AcquireOutcome> SessionBackend::behind_line(const AcquireRequest& request,
                                                          const std::vector<LockKey>& keys,
                                                          std::shared_ptr<Ticket>& ticket) {
  const bool waits = ticket && ticket->state != Ticket::State::none;
  const bool here = waits && ticket->key.key == line_key_.key;
  if (here && ticket->state == Ticket::State::has) {
    line_->passed();
    slots_->give_back(ticket->let_go());
    return {};
  }
  // A try is not told that a free name is taken. A waiter that has its place keeps it.
  if (!request.will_wait || (waits && !here)) return {};
  const TimePoint now = BootClock::now();
  const std::optional<SessionLine::Notice> notice = line_->before(keys, now);
  if (!notice) {
    if (here) stop_waiting(*ticket, request.by);
    return {};
  }
  if (ticket && line_->is_for(ticket.get())) return {};
  if (!ticket) ticket = std::make_shared<Ticket>(slots_, line_);
  if (!here && !wait_in_spare_session(*ticket, {line_key_.key, true}, request.by)) return {};
  Busy found;
  found.name = name_of(request, notice->key, store_.options().space);
  found.retry_after = notice->lapses - now;
  found.ticket = ticket;
  return AcquireOutcome(std::move(found));
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
                                            InTheWay holder, std::shared_ptr<Ticket> ticket) {
  Busy found;
  found.holder = holder.stamp;
  found.mode = holder.mode;
  found.holder_label = std::move(holder.label);
  found.name = name_of(request, key, store_.options().space);
  if (const auto mine = slots_->on_key(key.key)) {
    found.holder = mine->stamp;
    for (const LockRequest& item : mine->set.items()) {
      if (item.name == found.name) found.mode = item.mode;
    }
    found.holder_label = mine->owner.label;
    found.retry_after = std::max<Duration>(mine->ends - BootClock::now(), Duration::zero());
  }
  if (!request.will_wait) return AcquireOutcome(std::move(found));
  if (!ticket) ticket = std::make_shared<Ticket>(slots_, line_);
  if (ticket->state == Ticket::State::none && !wait_in_spare_session(*ticket, key, request.by)) {
    found.retry_after =
        std::min<Duration>(found.retry_after.value_or(poll_without_session), poll_without_session);
  }
  found.ticket = std::move(ticket);
  return AcquireOutcome(std::move(found));
}

// Sent before the busy answer is given: whatever is released later finds the waiter in the queue.
void SessionBackend::begin_wait(Ticket& ticket, const LockKey& key, TimePoint by) {
  const std::string argument = std::to_string(key.key);
  ticket.key = key;
  const SessionStatement& wait = key.key == line_key_.key ? pass_
                                 : key.shared             ? wait_shared_
                                                          : wait_;
  if (session_of(*ticket.slot).send(wait, {&argument, 1}, by)) {
    ticket.state = Ticket::State::waits;
  } else {
    ticket.slot->session->give_up();
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
  ticket.leave_line();
  ticket.look(BootClock::now());
  if (ticket.state == Ticket::State::none) return;
  Session& session = session_of(*ticket.slot);
  if (ticket.state == Ticket::State::waits) {
    // It is told to stop over another connection. It may have been served just now.
    if (common_call(cancel_, by, session.pid())) ticket.look(by);
    // It answers that it was cancelled: the session is free, and the ticket has let it go.
    if (ticket.state == Ticket::State::none) return;
  }
  const bool has_passed =
      ticket.state == Ticket::State::has && ticket.key.key == line_key_.key;  // nothing to unlock
  if (!has_passed &&
      (ticket.state != Ticket::State::has || !session.unlock({&ticket.key, 1}, by))) {
    session.give_up();
  }
  slots_->give_back(ticket.let_go());
}

}  // namespace lockset::postgresql
