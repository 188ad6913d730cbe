// The names of the events and of their fields, in one place for writing and reading: `each` is
// called with every field of an event, in the order of the line.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "history/event.h"

namespace lockset::history {

// In the order of What.
inline constexpr std::array<std::string_view, std::variant_size_v<What>> kind_names = {
    "ask",         "granted",       "busy",          "timeout",     "unknown",
    "refused",     "renew",         "renewed",       "not_renewed", "renew_unknown",
    "lost",        "valid",         "release",       "released",    "release_unknown",
    "not_held",    "use",           "kill",          "stop",        "cont",
    "fault_begin", "fault_end",     "restore_begin", "restore_end", "demoted_begin",
    "demoted_end", "permits_begin", "permits_end",   "seen_begin",  "seen",
    "seen_end",    "end",           "expect",        "bounded",     "condition",
    "observe",     "observed",      "not_observed",  "validate",    "unchanged",
    "changed",     "not_validated", "replace",       "cut_begin",   "cut_end"};

// Works for T and const T.
template <class T, class Each>
void for_fields(T& what, Each&& each) {
  if constexpr (requires { what.op; }) each("op", what.op);
  if constexpr (requires { what.since; }) each("since", what.since);
  if constexpr (requires { what.saw; }) each("saw", what.saw);
  if constexpr (requires { what.stamp; }) each("stamp", what.stamp);
  if constexpr (requires { what.asked; }) each("asked", what.asked);
  if constexpr (requires { what.answer; }) each("answer", what.answer);
  if constexpr (requires { what.from; }) each("from", what.from);
  if constexpr (requires { what.until; }) each("until", what.until);
  if constexpr (requires { what.floors; }) each("floors", what.floors);
  if constexpr (requires { what.set; }) each("set", what.set);
  if constexpr (requires { what.lease; }) each("lease", what.lease);
  if constexpr (requires { what.wait; }) each("wait", what.wait);
  if constexpr (requires { what.process; }) each("process", what.process);
  if constexpr (requires { what.kind; }) each("kind", what.kind);
  if constexpr (requires { what.name; }) each("name", what.name);
  if constexpr (requires { what.witness; }) each("witness", what.witness);
  if constexpr (requires { what.accepted; }) each("accepted", what.accepted);
  if constexpr (requires { what.read; }) each("read", what.read);
  if constexpr (requires { what.write; }) each("write", what.write);
  if constexpr (requires { what.holds; }) each("holds", what.holds);
  if constexpr (requires { what.waiters; }) each("waiters", what.waiters);
  if constexpr (requires { what.connections; }) each("connections", what.connections);
  if constexpr (requires { what.grants; }) each("grants", what.grants);
  if constexpr (requires { what.overlaps; }) each("overlaps", what.overlaps);
  if constexpr (requires { what.busy; }) each("busy", what.busy);
  if constexpr (requires { what.faults; }) each("faults", what.faults);
  if constexpr (requires { what.wakeups; }) each("wakeups", what.wakeups);
  if constexpr (requires { what.ends; }) each("ends", what.ends);
  if constexpr (requires { what.forgets; }) each("forgets", what.forgets);
  if constexpr (requires { what.overtakes; }) each("overtakes", what.overtakes);
}

}  // namespace lockset::history
