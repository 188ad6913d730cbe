// What the clients of a space ask each other: which holds there are, and to end one. And the thread
// that answers, that notices when a session is over, and that keeps the token if it is this
// client's turn. It has a connection of its own, the main one, which is parked in the server until
// somebody wants something.
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/answers.h"
#include "backends/mysql/call_text.h"
#include "backends/mysql/errors.h"
#include "backends/mysql/reply.h"
#include "backends/mysql/session_backend.h"
#include "backends/mysql/sql.h"
#include "backends/mysql/waiting.h"
#include "core/time_math.h"

namespace lockset::mysql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client that does not answer within this time stands still, or is cut off. Each answer waits for
// the disk.
constexpr Duration answers_within = seconds(3);
constexpr Duration main_pause = milliseconds(250);
// How long the server parks the main connection before this client looks by itself: whoever has
// another account can't end that.
constexpr std::int64_t parks_for_s = 1;
// The server ends the main connection of a client that stands still: others need what it keeps.
constexpr Duration main_silence = seconds(5);
// How long calls over the main connection may take.
constexpr Duration main_within = seconds(4);

std::string new_name() { return Token::random().hex().substr(0, 20); }

// The lock that a client's main connection holds while it is parked, without "lockset ".
std::string mark_of(std::string_view client) { return "parked " + std::string(client); }

bool was_interrupted(const Session& session) {
  return session.outcome() == Session::Outcome::answered && session.code() == code_of_interruption;
}

// On MySQL a procedure that was interrupted runs no handler: its transaction is still open.
bool roll_back(Session& session, TimePoint by) {
  while (!session.run("ROLLBACK", Sent::reading, by)) {
    if (!was_interrupted(session) || BootClock::now() >= by) return false;
  }
  return true;
}

// A client that wakes this one may interrupt the call. Then the call is repeated.
Result<Reply> run_to_the_end(Session& session, const std::string& call, TimePoint by) {
  for (;;) {
    Result<Reply> answer = session.run(call, Sent::reading, by);
    if (answer || !was_interrupted(session) || BootClock::now() >= by) return answer;
    if (!roll_back(session, by)) return answer;
  }
}

std::string hex_text(std::string_view bytes) {
  const std::string literal = hex_literal(bytes);  // x'..'
  return "\"" + literal.substr(2, literal.size() - 3) + "\"";
}

}  // namespace

Status SessionBackend::connect_main(TimePoint by) {
  if (connected_) return {};
  const std::unique_lock lock(main_mutex_, on_steady_clock(by));
  if (!lock.owns_lock()) {
    return Error{Errc::unavailable, store_.options().shown() + ": no connection in time"};
  }
  if (connected_) return {};
  const TimePoint end = std::min(by, BootClock::now() + store_.options().connect_timeout);
  Result<std::unique_ptr<Session>> session = Session::connect(store_.options(), end);
  if (!session) return session.error();
  if (!(*session)->end_after(main_silence, end)) {
    return Error{Errc::unavailable, store_.options().shown() + ": no answer in time"};
  }
  const std::string name = new_name();
  const Result<Reply> named = (*session)->run(
      "SELECT GET_LOCK(" + lock_literal("lockset " + name) + ",0)", Sent::reading, end);
  if (!named) return named.error();
  // From its commit on others may wake it, also in the middle of this call.
  const std::string call = CallText(store_.name("_session_register")).bytes(name).str();
  const Result<Reply> last = run_to_the_end(**session, call, end);
  if (!last) return last.error();
  answered_ = last->number(0);
  {
    const std::lock_guard naming(settled_mutex_);
    client_ = name;
  }
  main_ = *std::move(session);
  parked_ = false;
  kept_.clear();
  connected_ = true;
  if (!watcher_.joinable()) {
    try {
      watcher_.start([this] { watch(); });
    } catch (const std::system_error&) {
      main_.reset();
      connected_ = false;
      return Error{Errc::unavailable, "no thread can be started"};
    }
  } else {
    slots_->end_tending();  // it watches this connection from now on
  }
  return {};
}

void SessionBackend::drop_main() {
  const std::lock_guard lock(main_mutex_);
  main_.reset();
  connected_ = false;
}

void SessionBackend::watch() {
  while (!ending_) {
    slots_->answer_bell();
    const TimePoint now = BootClock::now();
    TimePoint until = slots_->tend(now);
    if (!slots_->any_unlisted()) {
      list_at_ = TimePoint::max();
    } else if (list_at_ == TimePoint::max()) {
      list_at_ = now + seconds(1);  // holds that last are listed, in case their client stops
    }
    int main_fd = -1;
    if (!connected_) {
      // The client's holds are not listed for as long as it has none.
      if (connect_main(now + store_.options().connect_timeout)) {
        list_at_ = TimePoint::min();
        continue;
      }
      until = std::min(until, BootClock::now() + main_pause);
    } else if (!tend_main(until)) {
      drop_main();
      continue;
    } else {
      main_fd = main_->fd();
    }
    slots_->sleeps_until(until);

    std::vector<pollfd> look{{slots_->bell(), POLLIN, 0}, {main_fd, POLLIN | POLLRDHUP, 0}};
    for (const Slots::Watched& each : slots_->watched()) {
      // No POLLIN: the answers of calls are not for this thread, and would wake it.
      look.push_back(
          {each.fd, static_cast<short>(each.stalled ? POLLIN | POLLRDHUP : POLLRDHUP), 0});
    }
    const auto wait = std::chrono::ceil<milliseconds>(std::min<Duration>(
        until <= BootClock::now() ? Duration::zero()
                                  : until - std::max(BootClock::now(), TimePoint()),
        seconds(60)));
    if (ending_) return;
    if (::poll(look.data(), look.size(), static_cast<int>(wait.count())) <= 0) continue;
    // The thread that has taken a session that is over gives it back in a moment.
    const bool over = std::any_of(look.begin() + 2, look.end(), [](const pollfd& each) {
      return (each.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    });
    if (over && slots_->tend(BootClock::now()) > BootClock::now()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
}

bool SessionBackend::tend_main(TimePoint& until) {
  if (parked_) {
    const Result<Reply> answer = main_->receive(Sent::reading, BootClock::now());
    if (main_->outcome() == Session::Outcome::late) {
      // It is woken by an answer. One that does not come is that of a server that does not work.
      until = std::min(until, parked_at_ + parks_at_most);
      return BootClock::now() < parked_at_ + parks_at_most;
    }
    parked_ = false;
    look_at_once_ = !answer;  // somebody wants something
    if (!answer && main_->code() != code_of_interruption) return false;
    if (answer && !answer_main(*answer)) return false;
  }
  const TimePoint by = BootClock::now() + main_within;
  bool wanted = false;
  {
    const std::lock_guard lock(settled_mutex_);
    wanted = wanted_;
  }
  if (wanted && !settle_on_main(by)) return false;
  if (list_at_ <= BootClock::now() && !list(answered_, {}, by)) return false;
  parked_at_ = BootClock::now();
  parked_ = main_->send(CallText(store_.name("_session_park"))
                            .number(answered_)
                            .bytes(seen_token_)
                            .number(look_at_once_ ? 0 : parks_for_s)
                            .bytes("lockset " + mark_of(client_))
                            .str(),
                        by);
  until = std::min({until, list_at_, parked_at_ + parks_at_most});
  // The answer may be there already, and then nothing wakes this thread.
  if (parked_ && !main_->owes()) until = BootClock::now();
  return parked_;
}

bool SessionBackend::answer_main(const Reply& news) {
  const TimePoint by = BootClock::now() + main_within;
  std::int64_t last = answered_;
  std::vector<std::int64_t> ended;
  bool only_ends = true;
  for (std::size_t row = 0; row < news.rows.size(); ++row) {
    if (news.text(0, row) == "token") {
      seen_token_ = news.text(1, row);
      continue;
    }
    const std::int64_t request = news.number(1, row);
    last = std::max(last, request);
    const Stamp stamp{news.number(2, row)};
    only_ends = only_ends && stamp;
    if (!stamp) continue;
    const bool any = !news.rows[row][3].has_value();
    const std::optional<SessionHold> hold = slots_->find(stamp);
    if (!hold || (!any && news.text(3, row) != hold->owner.app)) continue;
    const Result<bool> done = slots_->end(stamp, by);
    // Not ended for certain, and not held either: its session may have been ended meanwhile.
    if (!done && done.error().may_have_applied()) slots_->tell_loss(stamp);
    if (!done || !*done) continue;
    ended.push_back(request);
    slots_->tell_loss(stamp);
  }
  if (!kept_.empty() && seen_token_ != kept_ && !give_token_up(by)) return false;
  if (last == answered_) return true;
  answered_ = last;
  return only_ends ? say_answered(last, ended, nullptr, by) : list(last, ended, by);
}

bool SessionBackend::give_token_up(TimePoint by) {
  // The token first: whoever gets to be the keeper knows that it is not held.
  const std::string call = "DO RELEASE_LOCK(" + lock_literal("lockset " + kept_) +
                           "), RELEASE_LOCK(" + lock_literal(names_.keeper()) + ")";
  if (!run_to_the_end(*main_, call, by)) return false;
  kept_.clear();
  // Its successor, unless somebody is quicker.
  const std::lock_guard lock(settled_mutex_);
  wanted_ = wanted_ || seen_token_.empty();
  return true;
}

bool SessionBackend::settle_on_main(TimePoint by) {
  if (!kept_.empty()) {
    // It looks first whether its token is the present one still.
    look_at_once_ = true;
    const std::lock_guard lock(settled_mutex_);
    wanted_ = false;
    return true;
  }
  const std::string token = new_name();
  const Result<Reply> done =
      main_->run(CallText(store_.name("_session_settle")).bytes(token).bytes(names_.keeper()).str(),
                 Sent::reading, by);
  if (!done) {
    // Perhaps it has the locks: they end with the connection. But for who woke it in the middle.
    if (was_interrupted(*main_) && roll_back(*main_, by)) {
      kept_ = token;
      return give_token_up(by);
    }
    main_->give_up();
    return false;
  }
  if (done->rows.size() == 1 && done->text(0) == "keeper") {
    kept_ = token;
    seen_token_ = token;
  }
  {
    const std::lock_guard lock(settled_mutex_);
    wanted_ = false;
  }
  settled_changed_.notify_all();
  return true;
}

std::string SessionBackend::lock_of(const SessionHold& hold, const LockRequest& item) const {
  const std::int64_t key = names_.key(item.name);
  const auto held = std::find_if(hold.keys.begin(), hold.keys.end(),
                                 [&](const LockKey& each) { return each.key == key; });
  if (held == hold.keys.end() || !held->shared) return LockNames::write(key);
  return LockNames::read(key, static_cast<const Session&>(*hold.slot->session).number());
}

bool SessionBackend::list(std::int64_t answered, const std::vector<std::int64_t>& ended,
                          TimePoint by) {
  const TimePoint now = BootClock::now();
  const std::int64_t calendar = us(now.time_since_epoch()) + clock_offset_us_;
  std::vector<Stamp> shown;
  std::string holds = "[";
  for (const SessionHold& hold : slots_->all()) {
    if (hold.ends <= now) continue;
    shown.push_back(hold.stamp);
    for (const LockRequest& item : hold.set.items()) {
      holds += (holds.size() > 1 ? ",[" : "[") + std::to_string(hold.stamp.value) + "," +
               hex_text(item.name) + "," + std::to_string(number(item.mode)) + ",\"" +
               lock_of(hold, item) + "\"," + std::to_string(hold.session) + "," +
               std::to_string(hold.store_time_us) + "," +
               std::to_string(calendar + us(hold.ends - now)) + "," + hex_text(hold.owner.app) +
               "," + hex_text(hold.owner.instance) + "," + std::to_string(hold.owner.epoch) + "," +
               hex_text(hold.owner.label) + "]";
    }
  }
  holds += "]";
  if (!say_answered(answered, ended, &holds, by)) return false;
  slots_->listed(shown);
  list_at_ = TimePoint::max();
  return true;
}

bool SessionBackend::say_answered(std::int64_t answered, const std::vector<std::int64_t>& ended,
                                  const std::string* holds, TimePoint by) {
  std::string requests;
  for (const std::int64_t request : ended) {
    requests += (requests.empty() ? "" : ",") + std::to_string(request);
  }
  CallText call(store_.name("_session_list"));
  call.bytes(client_).number(answered).utf8(requests);
  if (holds != nullptr) {
    call.utf8(*holds);
  } else {
    call.null();
  }
  // Others read and remove rows meanwhile, or end the call to wake this client.
  while (BootClock::now() < by) {
    if (run_to_the_end(*main_, call.str(), by)) return true;
    if (main_->outcome() != Session::Outcome::answered) return false;
    if (!worth_repeating(main_->code())) return false;
  }
  return false;
}

void SessionBackend::wake_clients(std::string_view names, TimePoint by) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(name.size() + 1, names.size()));
    static_cast<void>(store_.run(wake_text(mark_of(name)), Sent::reading, by));
  }
}

Result<std::int64_t> SessionBackend::put(const std::string& call, Sent sent, TimePoint by) {
  const Result<Reply> asked = store_.run(call, sent, by);
  if (!asked) return asked.error();
  if (asked->rows.size() != 1) return nonsense(store_);
  return asked->number(0);
}

Result<SessionBackend::Answers> SessionBackend::answers_to(std::int64_t request, TimePoint by) {
  // There has to be time to read what those have listed that did answer.
  const TimePoint enough = std::min(later(by, -seconds(1)), BootClock::now() + answers_within);
  Nudge nudge;
  Duration pause = milliseconds(1);
  for (;;) {
    const Result<Reply> answer = store_.run(
        CallText(store_.name("_session_answers")).number(request).str(), Sent::reading, by);
    if (!answer) return answer.error();
    if (answer->rows.size() != 1) return nonsense(store_);
    const bool all = answer->text(0) != "waiting";
    if (all || BootClock::now() >= enough) {
      return Answers{answer->text(0) == "ended", all, answer->text(2)};
    }
    if (nudge.due()) wake_clients(answer->text(1), by);
    std::this_thread::sleep_for(pause);
    pause = std::min<Duration>(pause * 2, milliseconds(20));
  }
}

Result<bool> SessionBackend::end_elsewhere(const std::string& question, bool forced, TimePoint by) {
  const Result<std::int64_t> request = put(question, Sent::change, by);
  if (!request) return request.error();
  const Result<Answers> answers = answers_to(*request, by);
  if (!answers) return answers.error();
  if (answers->ended) return true;
  // Its session is ended, with the other holds in it. The server lets an account end its own
  // sessions, and an administrator any.
  if (forced && !answers->silent.empty() &&
      store_.run("KILL CONNECTION IS_USED_LOCK(" + lock_literal(answers->silent) + ")",
                 Sent::reading, by)) {
    return true;
  }
  if (answers->all && answers->silent.empty()) return false;
  return Error{Errc::indeterminate,
               store_.options().shown() + ": a client of the space does not answer"};
}

Result<bool> SessionBackend::break_hold(const HoldRef& hold, TimePoint by) {
  if (hold.stamp.value <= 0) return false;
  return end_elsewhere(CallText(store_.name("_break")).number(hold.stamp.value).str(), true, by);
}

Result<Inspection> SessionBackend::inspect(const InspectQuery& query, TimePoint by) {
  const Result<std::int64_t> request =
      put(CallText(store_.name("_session_ask")).number(0).bytes("").str(), Sent::reading, by);
  if (!request) return request.error();
  if (const Result<Answers> answers = answers_to(*request, by); !answers) return answers.error();
  CallText call(store_.name("_session_inspect"));
  if (query.match == InspectQuery::Match::all) {
    call.number(0).null().null();
  } else {
    // No UTF-8 text contains the byte FF: no name with this prefix comes after it.
    call.number(1)
        .bytes(query.text)
        .bytes(query.match == InspectQuery::Match::name ? query.text : query.text + '\xFF');
  }
  const Result<Reply> rows = store_.run(call.str(), Sent::reading, by);
  if (!rows) return rows.error();
  Inspection inspection;
  for (std::size_t row = 0; row < rows->rows.size(); ++row) {
    const Stamp stamp{rows->number(0, row)};
    if (inspection.holds.empty() || inspection.holds.back().stamp != stamp) {
      HoldInfo& hold = inspection.holds.emplace_back();
      hold.stamp = stamp;
      hold.owner =
          Owner{rows->text(1, row), rows->text(2, row), rows->number(3, row), rows->text(4, row)};
      hold.since =
          std::chrono::system_clock::time_point(std::chrono::microseconds(rows->number(5, row)));
      hold.remaining = std::chrono::microseconds(rows->number(6, row));
    }
    inspection.holds.back().items.push_back({rows->text(7, row), mode_of(rows->number(8, row))});
  }
  return inspection;
}

Result<std::size_t> SessionBackend::sweep(TimePoint by) {
  // Asks whether each client is alive, and removes what the dead have left.
  const Result<Reply> done = store_.run(CallText(store_.name("_session_answers"))
                                            .number(std::numeric_limits<std::int64_t>::max())
                                            .str(),
                                        Sent::change, by);
  if (!done) return done.error();
  return std::size_t{0};
}

}  // namespace lockset::mysql
