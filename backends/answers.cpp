#include "backends/answers.h"

#include "lockset/lock_set.h"

namespace lockset {
namespace {

constexpr const char* in_doubt = "; the change may or may not have been made";

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\r' || c == '\t') {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else {
      line += c;
    }
  }
  while (line.ends_with(' ') || line.ends_with('.') || line.ends_with(',')) line.pop_back();
  return line;
}

Error newer_epoch(std::string_view app, std::string_view begun) {
  return {Errc::superseded, "a newer instance of application " + in_quotes(app) +
                                " has begun the epoch " + std::string(begun)};
}

Error no_live_epoch(std::string_view app, std::int64_t epoch) {
  return {Errc::not_held, "the hold " + std::to_string(epoch) + " of application " +
                              in_quotes(app) + " is not live: its epoch can't begin"};
}

Error no_answer(Sent sent, const std::string& where, const std::string& quote) {
  if (sent == Sent::nothing) return {Errc::unavailable, where + ": the connection failed" + quote};
  if (sent == Sent::reading) return {Errc::unavailable, where + ": no answer came" + quote};
  return {Errc::indeterminate, where + ": no answer came" + in_doubt + quote};
}

Error unknown_answer(Sent sent, const std::string& where, const std::string& quote) {
  const std::string text = where + ": the server gave an unexpected answer";
  if (sent != Sent::change) return {Errc::internal, text + quote};
  return {Errc::indeterminate, text + in_doubt + quote};
}

Error takes_an_operator(const std::string& where, const std::string& user,
                        const std::string& account) {
  return {Errc::misconfigured,
          where + ": " + user +
              " may not change permits or break holds: that takes an operator's rights; run this "
              "as an operator, or grant them: lockset init --operator " +
              account};
}

Error in_quarantine(const std::string& where, std::string_view seen, std::string_view what,
                    Duration left) {
  const std::string when = seen.empty() ? std::string() : " (seen at " + std::string(seen) + ")";
  return {Errc::unavailable, where + ": its state was lost or may have been" + when + ": " +
                                 std::string(what) + " for another " +
                                 format_duration(std::chrono::ceil<std::chrono::seconds>(left)) +
                                 ", until all leases of before have ended"};
}

Error unbounded_overtaking() {
  return {Errc::unsupported, "this store does not bound how often a waiter is overtaken"};
}

Error foreign_ticket() { return {Errc::internal, "a wait ticket of another backend"}; }

}  // namespace lockset
