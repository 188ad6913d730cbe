// Did a run keep what Lockset promises? Invariants I1 to I9, each in a file of its own;
// docs/testing.md defines them. All of it is sorting and sweeping: n log n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "history/event.h"
#include "lockset/clock.h"
#include "lockset/error.h"

namespace lockset::history {

struct Rules {
  enum class StampOrder : std::uint8_t { global, per_name };
  // Whether stamps follow real time between all grants of the space or only between
  // grants with a name in common.
  StampOrder stamps = StampOrder::global;
  // How much later than its lease a store may end a hold.
  Duration slack = std::chrono::seconds(1);
  // And that much for each unit of its lease: a store that gives every hold its whole time again.
  int slack_per_lease = 0;
  // How long after its caller gave up a request may still reach the store.
  Duration late = std::chrono::seconds(10);
  // How long after the end of validity lost() may come, on a busy machine.
  Duration lost_delay = std::chrono::seconds(2);
  // How much later than its wait an acquire may return.
  Duration reply = std::chrono::seconds(10);
  // How long a set may be free for certain while somebody waits for it, without faults.
  Duration idle = std::chrono::seconds(10);
  // How long after the last trouble a process may be told nothing but errors, whatever it asks for.
  Duration recovery = std::chrono::seconds(10);
  // How long at any time, stops of the process not counted.
  Duration outage = Duration::max();
  // Processes that are to be refused for good: nothing but errors is what they should be told.
  std::set<std::string> refused;
  // How soon after a set has become free one that waits for it should have it: well below the
  // time after which it would look by itself where the store wakes it.
  Duration wakeup = std::chrono::milliseconds(250);
  // The share of them that may be later, in runs without faults that expect wake-ups. In others
  // they are only counted.
  double late_wakeups = 0.001;
  // For names that no permits event speaks of, where the client did not say either.
  std::uint32_t read_permits = 1;
  std::uint32_t write_permits = 1;
  // The share of busy answers that nothing explains, in runs with faults. Without: none.
  double spurious_busy = 0.01;
  // Whether the recorder notes lost(): a hold that ends without it is a violation then.
  bool records_lost = true;
  // Whether a hold lasts in the store as long as its holder was promised. A clock that steps
  // forward may end it before: then I1 and the admission part of I2 are not asked, nor that a
  // picture shows it or that the resource lets it in. Stamps and floors are judged all the same.
  bool leases_last = true;
  // Whether "not renewed" and "not held" mean that the store has the hold no more. A client that
  // keeps a hold's time itself, as ZooKeeper's does, says so as well when the time is over, and the
  // store may show it, and be busy by it, for a moment or until its lease ends there.
  bool denials_end = true;
  // What the run has to contain; the history's own Expect is added.
  Expect least{.grants = 1};
  // How many violations of one invariant are told.
  std::size_t most_told = 5;
};

enum class Invariant : std::uint8_t {
  exclusion,    // I1
  fencing,      // I2
  atomic_sets,  // I3
  busy,         // I4
  lease,        // I5
  resource,     // I6
  liveness,     // I7
  leaks,        // I8
  permits,      // I9
};
inline constexpr std::size_t invariant_count = 9;

// "I1 exclusion".
std::string_view to_string(Invariant invariant) noexcept;

struct Violation {
  Invariant invariant{};
  // Several lines: the rule, then the holds and calls that break it, with their times in
  // milliseconds since the first event.
  std::string story;
};

struct Counts {
  std::uint64_t operations = 0;
  std::uint64_t grants = 0;
  // Acquires for a name that somebody else held or was just asking for.
  std::uint64_t overlaps = 0;
  std::uint64_t busy = 0;
  std::uint64_t spurious_busy = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t unknown = 0;
  std::uint64_t refused = 0;
  std::uint64_t lost = 0;
  std::uint64_t kills = 0;
  std::uint64_t stops = 0;
  std::uint64_t faults = 0;  // of other kinds
  std::uint64_t restores = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t uses = 0;
  std::uint64_t wakeups = 0;       // acquires that waited until their set became free
  std::uint64_t late_wakeups = 0;  // of those, later than Rules::wakeup
  std::uint64_t ends = 0;
  // From the first event to the last call.
  Duration longest_without_grant{};
};

struct Report {
  std::vector<Violation> violations;  // at most Rules::most_told of each invariant
  std::size_t found[invariant_count] = {};
  Counts counts;
  // Why the run has shown too little, a line each.
  std::vector<std::string> vacuous;

  [[nodiscard]] bool kept() const noexcept { return violations.empty() && vacuous.empty(); }
  [[nodiscard]] std::size_t found_of(Invariant invariant) const noexcept {
    return found[static_cast<std::size_t>(invariant)];
  }
};

// Errc::invalid if the events make no sense together (an answer without a question, an
// operation's number used twice); names log and line. Pure; no I/O.
Result<Report> check(const History& history, const Rules& rules);

}  // namespace lockset::history
