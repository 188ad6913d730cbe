#include "backends/mysql/waiting.h"

#include <charconv>
#include <chrono>
#include <memory>
#include <set>

#include "backends/mysql/call_text.h"

namespace lockset::mysql {
namespace {

// How long the server sleeps before it looks for marks by itself: those of another account's
// clients are found no earlier. A client that ended abruptly occupies its connection until then.
constexpr std::string_view sleep_seconds = "1";
// How often it looks how many connections the server has left. What the client saw when it opened
// its own may be long ago.
constexpr std::chrono::seconds look_for_room_every{5};
// How long that call may take, at most.
constexpr std::chrono::seconds park_within{10};

// Marks that were told already, as "ticket:calls".
using Told = std::set<std::string, std::less<>>;

// More than these are forgotten: their waiters are then woken once more.
constexpr std::size_t most_told = 1000;

std::string joined(const Told& told) {
  std::string list;
  for (const std::string& mark : told) list += (list.empty() ? "" : ",") + mark;
  return list;
}

void tell(server::Listener& listener, std::string_view marks, Told& told) {
  while (!marks.empty()) {
    const std::string_view mark = marks.substr(0, marks.find(','));
    marks.remove_prefix(std::min(mark.size() + 1, marks.size()));
    if (told.size() >= most_told) told.clear();
    told.emplace(mark);
    std::uint64_t ticket = 0;
    std::from_chars(mark.data(), mark.data() + mark.size(), ticket);
    listener.wake(ticket);
  }
}

std::string lock_name(std::string_view listener) {
  return "'lockset " + std::string(listener) + "'";
}

}  // namespace

std::string wake_text(std::string_view listener) {
  return "KILL QUERY IS_USED_LOCK(" + lock_name(listener) + ")";
}

bool Parking::use(Connection* connection) {
  const std::lock_guard lock(mutex_);
  connection_ = connection;
  return !ended_;
}

void Parking::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  if (connection_ != nullptr) connection_->cut();
}

void Parking::listen(server::Listener& listener) {
  const TimePoint by = BootClock::now() + store_.options().connect_timeout;
  const Result<std::unique_ptr<Connection>> connection = store_.connect_to_listen(by);
  // Few connections are left: this one is closed again, and waiters ask by themselves.
  failed_ = !connection || store_.crowded();
  if (failed_) return;
  if (use(connection->get())) park(**connection, listener);
  use(nullptr);
}

void Parking::park(Connection& connection, server::Listener& listener) {
  CallFailure failure;
  const Result<Reply> named =
      connection.run("SELECT GET_LOCK(" + lock_name(listener.name()) + ", 0)", Sent::reading,
                     BootClock::now() + store_.options().connect_timeout, failure);
  if (!named || named->rows.size() != 1 || named->number(0) != 1) return;
  listener.connected();
  Told told;
  TimePoint next_look = BootClock::now() + look_for_room_every;
  while (use(&connection)) {
    if (BootClock::now() >= next_look) {
      if (!store_.look_for_room(connection, BootClock::now() + park_within)) return;
      next_look = BootClock::now() + look_for_room_every;
    }
    const Result<Reply> answer =
        connection.run("CALL " + store_.name("_park") + "('" + listener.name() + "', '" +
                           joined(told) + "', " + std::string(sleep_seconds) + ")",
                       Sent::reading, BootClock::now() + park_within, failure);
    if (answer && answer->rows.size() == 1) {
      tell(listener, answer->text(0), told);
    } else if (answer || failure.code != code_of_interruption) {
      return;
    }
  }
}

}  // namespace lockset::mysql
