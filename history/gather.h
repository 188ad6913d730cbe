// Turns a history into a timeline, in two walks. The second walk refers to stamps, and the line of
// a grant may be in another log or further down. Used inside history/ only.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "history/timeline.h"

namespace lockset::history {

// The log was cut in its first line.
inline bool says_nothing(const Log& log) { return log.process.empty() && log.events.empty(); }

// State that the walks share.
struct Gathering {
  Timeline line;
  std::unordered_map<std::string, std::uint32_t> names;
  std::unordered_map<std::string, std::uint32_t> processes;
  std::unordered_map<Stamp, std::uint32_t> holds;  // the last grant of each stamp

  // The current event.
  std::uint32_t process = nobody;
  TimePoint now;
  std::string complaint;  // set if it makes no sense

  std::uint32_t name_of(const std::string& name);
  // nobody: the process had no time to write anything.
  [[nodiscard]] std::uint32_t process_of(const std::string& name) const;
  // The hold with this stamp, preferably one of this process. nobody if none is known: its grant
  // was never recorded, or it was not taken in this run.
  [[nodiscard]] std::uint32_t hold_of(Stamp stamp) const;
};

// Shows each log, event by event, to a new Visitor. Errc::invalid with the first complaint.
template <class Visitor>
Status walk(const History& history, Gathering& all) {
  all.process = nobody;
  for (const Log& log : history) {
    if (says_nothing(log)) continue;
    ++all.process;
    Visitor visitor(all);
    for (std::size_t i = 0; i < log.events.size(); ++i) {
      all.now = log.events[i].time;
      std::visit(visitor, log.events[i].what);
      if (all.complaint.empty()) continue;
      return Error{Errc::invalid, "the history makes no sense in line " + std::to_string(i + 2) +
                                      " of " +
                                      (log.source.empty() ? in_quotes(log.process) : log.source) +
                                      ": " + all.complaint};
    }
  }
  return {};
}

// First walk: what was asked, and the answers.
Status take_acquires(const History& history, Gathering& all);
// Second walk: what happened to the holds, and everything else.
Status take_incidents(const History& history, Gathering& all);

}  // namespace lockset::history
