// Checks whether a run kept what Lockset promises: invariants I1 to I10, each in its own file.
// docs/testing.md defines them. The checks only sort and sweep: n log n.
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
  // This much is added for each unit of the lease: for a store that may give every hold its whole
  // lease again.
  int slack_per_lease = 0;
  // How long after the caller gave up a request may still reach the store.
  Duration late = std::chrono::seconds(10);
  // How long after the end of validity lost() may come; the machine may be busy.
  Duration lost_delay = std::chrono::seconds(2);
  // How much later than its wait an acquire may return.
  Duration reply = std::chrono::seconds(10);
  // Without faults: how long a set may certainly be free while somebody waits for it.
  Duration idle = std::chrono::seconds(10);
  // How long after the last trouble a process may get only errors, whatever it asks for.
  Duration recovery = std::chrono::seconds(10);
  // The same at any time; time in which the process was stopped does not count.
  Duration outage = Duration::max();
  // Processes that are to be refused permanently: they should get nothing but errors.
  std::set<std::string> refused;
  // How soon after a set became free its waiter should get it: well below the time after which the
  // waiter would poll, so that it shows whether the store wakes it.
  Duration wakeup = std::chrono::milliseconds(250);
  // The share of wake-ups that may be later, in runs without faults that expect wake-ups. In other
  // runs they are only counted.
  double late_wakeups = 0.001;
  // How long after it was asked an acquire certainly stands in line, if it has to wait: only who is
  // asked for later than that can overtake it for certain.
  Duration in_line = std::chrono::milliseconds(100);
  // The share of waiters that may be overtaken more often than the run says (Bounded), in runs
  // without faults: one that is slow to come after it was woken is passed over.
  double overtaken = 0.001;
  // In runs with faults: how long names may be kept for a waiter after the last that the store
  // heard of it.
  Duration waiter_lifetime = std::chrono::seconds(15);
  // For names without a permits event, if the client did not record the permits either.
  std::uint32_t read_permits = 1;
  std::uint32_t write_permits = 1;
  // The share of busy answers without an explanation, in runs with faults. Without faults: none.
  double spurious_busy = 0.01;
  // The share of answers "changed", and of names said to be written, for which there is no reason,
  // in runs with faults: a store may forget what was observed. Without faults: none.
  double spurious_changes = 0.01;
  // Whether the recorder notes lost(): then a hold that ends without it is a violation.
  bool records_lost = true;
  // Whether a hold lasts in the store as long as its holder was promised. A clock that steps
  // forward may end it earlier: then the checks of I1 and of admission in I2 are left out, and so
  // are the checks that a snapshot shows the hold and that the resource accepts it. Stamps and
  // floors are checked all the same.
  bool leases_last = true;
  // Whether "not renewed" and "not held" mean that the store no longer has the hold. A client that
  // times a hold itself, as ZooKeeper's does, also answers so when the time is over. The store may
  // then still show the hold, and be busy because of it, for a moment or until its lease ends
  // there.
  bool denials_end = true;
  // Whether a snapshot shows the store as it was. A store without rows asks its clients what they
  // hold, and shows one that does not answer as it last was: a hold may then be missing, or be
  // shown when it has ended.
  bool snapshots_current = true;
  // A store that frees what a client holds when the client is gone: how soon after a kill that has
  // happened. What is held or busy later because of the dead one has no explanation (I4, I7).
  Duration freed_after_kill = Duration::max();
  // What the run has to contain at least; the history's own Expect is added.
  Expect least{.grants = 1};
  // How many violations of one invariant are reported.
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
  observing,    // I10
};
inline constexpr std::size_t invariant_count = 10;

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
  // Acquires for a name that somebody else held or was asking for at the time.
  std::uint64_t overlaps = 0;
  std::uint64_t busy = 0;
  std::uint64_t spurious_busy = 0;
  std::uint64_t timeouts = 0;
  std::uint64_t unknown = 0;
  std::uint64_t refused = 0;
  std::uint64_t lost = 0;
  std::uint64_t cut_off = 0;  // grants that count as certain no longer than to a cut
  std::uint64_t kills = 0;
  std::uint64_t stops = 0;
  std::uint64_t faults = 0;  // of other kinds
  std::uint64_t restores = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t uses = 0;
  std::uint64_t wakeups = 0;       // acquires that waited until their set became free
  std::uint64_t late_wakeups = 0;  // of those, later than Rules::wakeup
  std::uint64_t waits = 0;         // granted acquires that may wait, where overtaking is judged
  std::uint64_t overtaken = 0;     // of those, more often than the run says
  std::uint64_t ends = 0;
  std::uint64_t observations = 0;
  std::uint64_t unchanged = 0;         // answers of validations
  std::uint64_t changed = 0;           // the same, and acquires that were refused by a condition
  std::uint64_t conditional = 0;       // grants on a condition
  std::uint64_t spurious_changes = 0;  // answers that nothing explains
  std::uint64_t upgrades = 0;          // grants that took the place of a hold
  std::uint64_t downgrades = 0;
  std::uint64_t unconverted = 0;  // conversions that were told "busy"
  // From the first event to the last call.
  Duration longest_without_grant{};
};

struct Report {
  std::vector<Violation> violations;  // at most Rules::most_told of each invariant
  std::size_t found[invariant_count] = {};
  Counts counts;
  // Why the run shows too little, one line per reason.
  std::vector<std::string> vacuous;

  [[nodiscard]] bool kept() const noexcept { return violations.empty() && vacuous.empty(); }
  [[nodiscard]] std::size_t found_of(Invariant invariant) const noexcept {
    return found[static_cast<std::size_t>(invariant)];
  }
};

// Errc::invalid, with the log and the line, if the events make no sense together (an answer without
// a question, an operation's number used twice). Pure; no I/O.
Result<Report> check(const History& history, const Rules& rules);

}  // namespace lockset::history
