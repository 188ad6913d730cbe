#include "tests/chaos/migration/left_overs.h"

#include <fstream>
#include <iterator>

#include "history/text.h"

namespace lockset::chaos {
namespace {

// A store may fail meanwhile: a process that can't ask it is not refused yet.
constexpr Duration patience = std::chrono::seconds(90);

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Counts only grants that were still valid when recorded: a process may have been stopped between a
// grant and its line.
std::size_t grants_since(const std::filesystem::path& log, TimePoint since) {
  const Result<history::Log> read = history::parse_log(text_of(log), log.string());
  if (!read) return 1;  // the checker reports what is wrong with it
  std::size_t count = 0;
  for (const history::Event& event : read->events) {
    const auto* grant = std::get_if<history::Granted>(&event.what);
    if (grant != nullptr && event.time >= since && grant->until > event.time) ++count;
  }
  return count;
}

}  // namespace

LeftOvers::~LeftOvers() {
  for (One& one : all_) {
    log_.record(history::Kill{one.name});
    one.process->kill();
  }
}

void LeftOvers::start(Way way, State state) {
  One one;
  one.name = std::string(name_start) + std::to_string(ways_.size() + 1) + "-" +
             std::string(to_string(way));
  one.way = way;
  one.state = state;
  one.since = BootClock::now();
  one.process = workers_.one_more(one.name, stores_.url(ways_.size(), way));
  ways_[one.name] = way;
  all_.push_back(std::move(one));
}

void LeftOvers::start_refused(Way way) { start(way, State::has_to_be_refused); }

void LeftOvers::start_sleeper(Way way) {
  if (stores_.bears_stopped(way)) start(way, State::works);
}

void LeftOvers::fall_asleep() {
  for (One& one : all_) {
    if (one.state != State::works) continue;
    if (one.process->ended()) {
      fail(one, "ended by itself:\n" + text_of(workers_.output_of(one.name)));
      continue;
    }
    log_.record(history::Stop{one.name});
    one.process->stop();
    one.state = State::sleeps;
    one.since = BootClock::now();
  }
}

void LeftOvers::wake(Way way) {
  for (One& one : all_) {
    if (one.state != State::sleeps || one.way != way) continue;
    one.state = State::is_to_wake;
    return;
  }
}

void LeftOvers::wake_if_due(One& one) {
  const TimePoint now = BootClock::now();
  if (now - one.since < 3 * stores_.lease() / 2) return;
  one.since = now;
  log_.record(history::Cont{one.name});
  one.process->go_on();
  one.state = State::has_to_be_refused;
  one.slept = true;
}

bool LeftOvers::judged() {
  bool all = true;
  for (std::size_t i = 0; i < all_.size();) {
    One& one = all_[i];
    if (one.state == State::is_to_wake) {
      all = false;
      wake_if_due(one);
    }
    if (one.state != State::has_to_be_refused) {
      ++i;
      continue;
    }
    const auto code = one.process->ended();
    if (!code) {
      all = false;
      if (BootClock::now() - one.since > patience) fail(one, "goes on, and was not refused");
      ++i;
      continue;
    }
    judge(one, *code);
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return all;
}

void LeftOvers::judge(const One& one, int code) {
  const std::string said = text_of(workers_.output_of(one.name));
  if (code != 1 || said.find("misconfigured") == std::string::npos) {
    fail(one, "ended with " + std::to_string(code) + " and was not refused:\n" + said);
    return;
  }
  const std::size_t grants = grants_since(workers_.log_of(one.name), one.since);
  if (grants > 0) {
    fail(one, "was granted " + std::to_string(grants) + " sets before it was refused");
    return;
  }
  ++(one.slept ? refused_after_sleep_ : refused_);
}

void LeftOvers::fail(const One& one, const std::string& what) {
  if (!trouble_) trouble_ = one.name + ", which should be refused, " + what;
}

}  // namespace lockset::chaos
