// What the clients of a space ask each other: which holds there are, and to end one. And the thread
// that answers, and that notices when a session is over.
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "backends/answers.h"
#include "backends/postgresql/reply.h"
#include "backends/postgresql/session_backend.h"
#include "core/time_math.h"

namespace lockset::postgresql {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A client that does not answer within this time stands still, or is cut off.
constexpr Duration answers_within = seconds(1);
constexpr Duration main_pause = milliseconds(250);

// An SQL array literal of texts.
class Texts {
 public:
  void add(std::string_view text) {
    literal_ += literal_.size() > 1 ? ",\"" : "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') literal_ += '\\';
      literal_ += c;
    }
    literal_ += '"';
  }
  [[nodiscard]] std::string take() { return std::move(literal_) + "}"; }

 private:
  std::string literal_ = "{";
};

struct Question {
  std::int64_t request = 0;
  Stamp stamp;
  std::optional<std::string> app;  // unset: any
};

// "12 1700000000000000 =app", "12 0 *".
std::optional<Question> read_question(std::string_view text) {
  Question question;
  const char* const end = text.data() + text.size();
  const auto request = std::from_chars(text.data(), end, question.request);
  if (request.ec != std::errc() || request.ptr == end) return {};
  const auto stamp = std::from_chars(request.ptr + 1, end, question.stamp.value);
  if (stamp.ec != std::errc() || end - stamp.ptr < 2) return {};
  if (stamp.ptr[1] == '=') question.app = std::string(stamp.ptr + 2, end);
  return question;
}

}  // namespace

Status SessionBackend::connect_main(TimePoint by) {
  if (connected_) return {};
  const std::unique_lock lock(main_mutex_, on_steady_clock(by));
  if (!lock.owns_lock()) {
    return Error{Errc::unavailable,
                 "PostgreSQL (" + store_.options().shown + "): no connection in time"};
  }
  if (connected_) return {};
  Result<std::unique_ptr<Connection>> connection = store_.connect_apart(by);
  if (!connection) return connection.error();
  auto session = std::make_unique<Session>(store_.options(), *std::move(connection));
  // It lives as long as its client answers TCP; its holds are in other sessions.
  const Result<Session::Rows> listens = session->run(
      "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = "
      "4; "
      "SET idle_session_timeout = 0; LISTEN \"" +
          session_channel(store_.options().space) + "\"",
      Sent::reading, by);
  if (!listens) return listens.error();
  const Result<Session::Rows> number = session->call(register_, {}, Sent::reading, by);
  if (!number) return number.error();
  client_ = std::strtoll(PQgetvalue(number->get(), 0, 0), nullptr, 10);
  main_ = std::move(session);
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

void SessionBackend::watch() {
  TimePoint again = TimePoint::max();
  while (!ending_) {
    slots_->answer_bell();
    const TimePoint now = BootClock::now();
    TimePoint until = slots_->tend(now);
    int main_fd = -1;
    {
      const std::lock_guard lock(main_mutex_);
      if (main_) main_fd = main_->fd();
    }
    if (main_fd < 0) {
      // The client's holds are not listed for as long as it has none.
      if (!connect_main(now + store_.options().connect_timeout)) {
        until = std::min(until, BootClock::now() + main_pause);
      } else {
        static_cast<void>(publish(0, {}, BootClock::now() + answers_within));
        continue;
      }
    }
    // Holds that last are published, in case their client stops.
    if (again <= now) {
      static_cast<void>(publish(0, {}, now + answers_within));
      again = TimePoint::max();
    }
    if (!slots_->any_unlisted()) {
      again = TimePoint::max();
    } else if (again == TimePoint::max()) {
      again = now + seconds(1);
    }
    // The answer comes last: calls over the connection also receive what others ask.
    if (main_fd >= 0 && !(tend_line(BootClock::now() + answers_within) &&
                          answer(BootClock::now() + answers_within))) {
      const std::lock_guard lock(main_mutex_);
      main_.reset();
      line_->given_back();
      connected_ = false;
      continue;
    }
    until = std::min({until, again, line_->due()});
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

bool SessionBackend::answer(TimePoint by) {
  PGconn* const raw = main_->raw();
  if (main_->hung_up() || PQconsumeInput(raw) == 0) return false;
  // While it publishes, further questions may arrive.
  for (;;) {
    std::int64_t answered = 0;
    std::vector<std::int64_t> ended;
    while (PGnotify* const notified = PQnotifies(raw)) {
      const std::string_view text = notified->extra;
      if (text.starts_with(line_notice)) {
        line_->heard(text.substr(line_notice.size()), BootClock::now());
      }
      const std::optional<Question> question = read_question(text);
      PQfreemem(notified);
      if (!question) continue;
      answered = std::max(answered, question->request);
      if (!question->stamp) continue;
      const std::optional<SessionHold> hold = slots_->find(question->stamp);
      if (!hold || (question->app && *question->app != hold->owner.app)) continue;
      const Result<bool> done = slots_->end(question->stamp, by);
      // Not ended for certain, and not held either: its session may have been ended meanwhile.
      if (!done && done.error().may_have_applied()) slots_->tell_loss(question->stamp);
      if (!done || !*done) continue;
      ended.push_back(question->request);
      slots_->tell_loss(question->stamp);
    }
    if (answered == 0) return true;
    if (!publish(answered, ended, by)) return false;
  }
}

bool SessionBackend::tend_line(TimePoint by) {
  const std::lock_guard lock(main_mutex_);
  if (line_->to_give_back(BootClock::now())) {
    if (!main_->unlock({&line_key_, 1}, by)) return false;
    line_->given_back();
  }
  const std::string notice = line_->to_take();
  if (notice.empty()) return true;
  const std::string key = std::to_string(line_key_.key);
  const Result<Session::Rows> answer = main_->call(try_line_, {&key, 1}, Sent::reading, by);
  const bool done = answer.ok() && PQgetvalue(answer->get(), 0, 0)[0] == 't';
  line_->taken(done, BootClock::now());
  if (!done) return answer.ok();
  // Told once the lock is held: a client that finds it free knows that the notice is over.
  const std::array<std::string, 2> arguments{session_channel(store_.options().space), notice};
  return main_->call(notify_, arguments, Sent::reading, by).ok();
}

bool SessionBackend::publish(std::int64_t answered, const std::vector<std::int64_t>& ended,
                             TimePoint by) {
  const TimePoint now = BootClock::now();
  const std::int64_t calendar = boot_us(now) + clock_offset_us_;
  std::vector<Stamp> shown;
  std::vector<std::int64_t> stamps, keys, since, ends, epochs, pids;
  std::string modes = "{";
  Texts names, apps, instances, labels;
  for (const SessionHold& hold : slots_->all()) {
    if (hold.ends <= now) continue;
    shown.push_back(hold.stamp);
    for (const LockRequest& item : hold.set.items()) {
      stamps.push_back(hold.stamp.value);
      keys.push_back(session_key(store_.options().space, item.name));
      since.push_back(hold.store_time_us);
      ends.push_back(calendar + micros(hold.ends - now));
      epochs.push_back(hold.owner.epoch);
      pids.push_back(hold.session);
      modes += modes.size() > 1 ? "," : "";
      modes += item.mode == Mode::read ? 'r' : 'w';
      names.add(item.name);
      apps.add(hold.owner.app);
      instances.add(hold.owner.instance);
      labels.add(hold.owner.label);
    }
  }
  const std::array<std::string, 14> arguments{std::to_string(client_),
                                              std::to_string(answered),
                                              array_of_numbers(ended),
                                              array_of_numbers(stamps),
                                              array_of_numbers(keys),
                                              array_of_numbers(since),
                                              array_of_numbers(ends),
                                              array_of_numbers(epochs),
                                              array_of_numbers(pids),
                                              modes + "}",
                                              names.take(),
                                              apps.take(),
                                              instances.take(),
                                              labels.take()};
  const std::lock_guard lock(main_mutex_);
  if (!main_ || !main_->call(publish_, arguments, Sent::reading, by)) return false;
  slots_->listed(shown);
  return true;
}

Result<bool> SessionBackend::answers_to(std::int64_t request, TimePoint by, bool& all) {
  const TimePoint enough = std::min(by, BootClock::now() + answers_within);
  Duration pause = milliseconds(1);
  for (;;) {
    const Result<pqxx::result> answer = common_call(answers_, by, request);
    if (!answer) return answer.error();
    const std::string text = (*answer)[0][0].as<std::string>();
    all = text != "W";
    if (all || BootClock::now() >= enough) return text == "R";
    std::this_thread::sleep_for(pause);
    pause = std::min<Duration>(pause * 2, milliseconds(20));
  }
}

Result<bool> SessionBackend::end_elsewhere(const Statement& question, Stamp stamp,
                                           const std::string* app, TimePoint by) {
  const Result<pqxx::result> asked = app != nullptr ? common_call(question, by, stamp.value, *app)
                                                    : common_call(question, by, stamp.value);
  if (!asked) return asked.error();
  bool all = false;
  Result<bool> ended = answers_to((*asked)[0][0].as<std::int64_t>(), by, all);
  if (!ended || *ended || all) return ended;
  if (app != nullptr) {
    return Error{Errc::indeterminate, "PostgreSQL (" + store_.options().shown +
                                          "): a client of the space does not answer"};
  }
  const Result<pqxx::result> forced = common_call(force_, by, stamp.value);
  if (!forced) return forced.error();
  if ((*forced)[0][0].as<bool>(false)) return true;
  // It has no such hold, or answers late.
  ended = answers_to((*asked)[0][0].as<std::int64_t>(), by, all);
  if (!ended || *ended || all) return ended;
  return Error{Errc::indeterminate, "PostgreSQL (" + store_.options().shown +
                                        "): a client of the space does not answer"};
}

Result<bool> SessionBackend::break_hold(const HoldRef& hold, TimePoint by) {
  return end_elsewhere(break_, hold.stamp, nullptr, by);
}

Result<Inspection> SessionBackend::inspect(const InspectQuery& query, TimePoint by) {
  const Result<pqxx::result> asked = common_call(ask_, by, std::int64_t{0}, std::string());
  if (!asked) return asked.error();
  bool all = false;
  const Result<bool> answers = answers_to((*asked)[0][0].as<std::int64_t>(), by, all);
  if (!answers) return answers.error();
  return common_.inspect(query, by);
}

Result<std::size_t> SessionBackend::sweep(TimePoint by) {
  // Asks whether each client is alive, and removes what the dead have left.
  const Result<pqxx::result> done =
      common_call(answers_, by, std::numeric_limits<std::int64_t>::max());
  if (!done) return done.error();
  return std::size_t{0};
}

}  // namespace lockset::postgresql
