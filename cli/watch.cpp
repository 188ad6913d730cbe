#include "cli/watch.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "cli/chat.h"
#include "cli/output.h"
#include "tools/failure.h"

namespace lockset::cli {

using namespace tools;

Watch::Watch(bool again, bool json) : json_(json) {
  if (again) signals_.emplace();
}

int Watch::show(const std::function<Result<std::string>()>& look) {
  const bool in_place = signals_ && !json_ && ::isatty(STDOUT_FILENO) == 1;
  std::string before;
  for (int ended_by = 0;;) {
    const Result<std::string> seen = look();
    std::string text;
    if (seen) {
      text = *seen;
    } else if (signals_ && (seen.error().retryable() || seen.error().may_have_applied())) {
      if (before != seen.error().message) say(seen.error().message);
      before = seen.error().message;
    } else {
      or_fail(seen);
    }
    if (in_place && !text.empty()) {
      print("\033[H\033[J" + text);
    } else if (!text.empty() && text != before) {
      print((before.empty() || json_ ? "" : "\n") + text);
    }
    if (!text.empty()) before = text;
    if (!signals_) return exit_ok;
    if (!wait_to_look_again(ended_by)) return exit_signal + ended_by;
  }
}

// False if a signal asks us to end.
bool Watch::wait_to_look_again(int& ended_by) {
  constexpr int look_again_ms = 1000;
  pollfd fd{signals_->fd(), POLLIN, 0};
  ::poll(&fd, 1, look_again_ms);
  while (const std::optional<int> signal = signals_->next()) {
    if (asks_to_end(*signal)) ended_by = *signal;
    if (*signal == SIGTSTP) signals_->stop_self();
  }
  return ended_by == 0;
}

}  // namespace lockset::cli
