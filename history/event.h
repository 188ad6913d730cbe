// What happened in a run, event by event: the recorder writes it, and the checker reads it.
// docs/history-format.md explains the format and its rules.
//
// Times are those of BootClock, which all processes of one host share. A call is two events, one
// before it is made and one after it returned; what the store did, it did between the two.
//
// Plain values. No I/O here: text.h turns events into lines and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lockset/clock.h"
#include "lockset/lock_set.h"
#include "lockset/stamp.h"

namespace lockset::history {

struct Wish {
  std::string name;
  Mode mode = Mode::write;
  // How many holds of this mode the name admits, as far as the client knew when it asked; 0: not
  // known.
  std::uint32_t permits = 0;
  bool operator==(const Wish&) const = default;
};

// An acquire. `op` is unique in its process. lease and wait may be Duration::max(); a wait of 0 is
// a try.
struct Ask {
  std::uint64_t op = 0;
  std::vector<Wish> set;
  Duration lease{};
  Duration wait{};
  bool operator==(const Ask&) const = default;
};
// The acquire was granted, and is promised to be valid before `until`. May follow Unknown: then the
// store was asked what became of it.
struct Granted {
  std::uint64_t op = 0;
  Stamp stamp;
  TimePoint until;
  std::vector<Stamp> floors;  // one for each name of the set, or none
  bool operator==(const Granted&) const = default;
};
// Busy: the answer named the hold `witness` on `name`; 0: it named none.
struct Busy {
  std::uint64_t op = 0;
  std::string name;
  Stamp witness;
  bool operator==(const Busy&) const = default;
};
// The acquire `op` has a condition: what the observation `since` of the same process saw has not
// changed. Semantics 28.
struct Condition {
  std::uint64_t op = 0;
  std::uint64_t since = 0;
  bool operator==(const Condition&) const = default;
};
// The acquire `op` takes the place of the hold `stamp`: an upgrade, or a downgrade. If it is
// granted, that hold ends in the same step. Semantics 29, 30.
struct Replace {
  std::uint64_t op = 0;
  Stamp stamp;
  bool operator==(const Replace&) const = default;
};
struct TimedOut {
  std::uint64_t op = 0;
  bool operator==(const TimedOut&) const = default;
};
// Perhaps granted, now or later.
struct Unknown {
  std::uint64_t op = 0;
  bool operator==(const Unknown&) const = default;
};
// Certainly not granted, now or later.
struct Refused {
  std::uint64_t op = 0;
  bool operator==(const Refused&) const = default;
};

// What was seen of one name, as in lockset::Observation and lockset::Change.
struct Saw {
  std::string name;
  Stamp last_write;
  bool being_written = false;
  bool operator==(const Saw&) const = default;
};
// An observation of some names is asked for; one of the next two is its answer, or none if the
// process died. Its number is unique among those of acquires and validations, too.
struct Observe {
  std::uint64_t op = 0;
  bool operator==(const Observe&) const = default;
};
struct Observed {
  std::uint64_t op = 0;
  std::vector<Saw> saw;
  bool operator==(const Observed&) const = default;
};
struct NotObserved {
  std::uint64_t op = 0;
  bool operator==(const NotObserved&) const = default;
};
// A validation of the observation `since`; one of the next three is its answer, or none.
struct Validate {
  std::uint64_t op = 0;
  std::uint64_t since = 0;
  bool operator==(const Validate&) const = default;
};
struct Unchanged {
  std::uint64_t op = 0;
  bool operator==(const Unchanged&) const = default;
};
// Also the answer to an acquire whose condition is not met: it is certainly not granted, now or
// later. `saw`: the changed names as they are now, or nothing if that was not told.
struct Changed {
  std::uint64_t op = 0;
  std::vector<Saw> saw;
  bool operator==(const Changed&) const = default;
};
struct NotValidated {
  std::uint64_t op = 0;
  bool operator==(const NotValidated&) const = default;
};

// A renewal is sent; one of the next three is its answer, or none if the process died.
struct Renew {
  Stamp stamp;
  bool operator==(const Renew&) const = default;
};
struct Renewed {
  Stamp stamp;
  TimePoint until;
  bool operator==(const Renewed&) const = default;
};
struct NotRenewed {  // there is no such hold any more
  Stamp stamp;
  bool operator==(const NotRenewed&) const = default;
};
struct RenewUnknown {
  Stamp stamp;
  bool operator==(const RenewUnknown&) const = default;
};

// The holder learned that the hold is lost.
struct Lost {
  Stamp stamp;
  bool operator==(const Lost&) const = default;
};
// valid() was called at `asked`; the event's time is that of the answer.
struct Valid {
  Stamp stamp;
  TimePoint asked;
  bool answer = false;
  bool operator==(const Valid&) const = default;
};

// A release or a break is sent; one of the next three is its answer.
struct Release {
  Stamp stamp;
  bool operator==(const Release&) const = default;
};
struct Released {
  Stamp stamp;
  bool operator==(const Released&) const = default;
};
struct ReleaseUnknown {
  Stamp stamp;
  bool operator==(const ReleaseUnknown&) const = default;
};
struct NotHeld {
  Stamp stamp;
  bool operator==(const NotHeld&) const = default;
};

// A fenced resource was used. The time was taken while the resource let nobody else in.
struct Use {
  Stamp stamp;
  std::string name;
  bool accepted = false;
  bool operator==(const Use&) const = default;
};

// Signals to a process, noted before they are sent.
struct Kill {
  std::string process;
  bool operator==(const Kill&) const = default;
};
struct Stop {
  std::string process;
  bool operator==(const Stop&) const = default;
};
struct Cont {
  std::string process;
  bool operator==(const Cont&) const = default;
};
// A fault of any other kind. It ends when the same log has an End of the same kind.
struct FaultBegin {
  std::string kind;
  bool operator==(const FaultBegin&) const = default;
};
struct FaultEnd {
  std::string kind;
  bool operator==(const FaultEnd&) const = default;
};

// The store is emptied. Then the state that it had at some moment from `from` to `until` is put
// back (a backup), or nothing if both are zero (a new space). One at a time in a log.
struct RestoreBegin {
  TimePoint from;
  TimePoint until;
  // Whether earlier grants may be gone. Not if the store waits until all of them have ended before
  // it grants anything.
  bool forgets = true;
  bool operator==(const RestoreBegin&) const = default;
};
struct RestoreEnd {
  bool operator==(const RestoreEnd&) const = default;
};

// From here to the end the server may grant and renew nothing, because another one may have taken
// its place: it was made read-only, or a replica. Noted once that is certain.
struct DemotedBegin {
  bool operator==(const DemotedBegin&) const = default;
};
// Noted before the demotion is undone.
struct DemotedEnd {
  bool operator==(const DemotedEnd&) const = default;
};

// Between these two, connections to the store may break off before their clients know, and with
// them the holds that end with their connection. Of a store whose holds outlive connections there
// are none. A cut ends when the same log has an End of the same kind.
struct CutBegin {
  std::string kind;
  bool operator==(const CutBegin&) const = default;
};
struct CutEnd {
  std::string kind;
  bool operator==(const CutEnd&) const = default;
};

// A change of the permits of one name; both values are the ones after the change. A change of the
// default appears once for each name that it affects.
struct PermitsBegin {
  std::string name;
  std::uint32_t read = 1;
  std::uint32_t write = 1;
  bool operator==(const PermitsBegin&) const = default;
};
struct PermitsEnd {
  std::string name;
  std::uint32_t read = 1;
  std::uint32_t write = 1;
  bool operator==(const PermitsEnd&) const = default;
};

// A snapshot of the whole store, taken between Begin and End; one at a time in a process.
struct SeenBegin {
  bool operator==(const SeenBegin&) const = default;
};
struct Seen {
  Stamp stamp;
  std::vector<Wish> set;
  bool operator==(const Seen&) const = default;
};
struct SeenEnd {
  bool operator==(const SeenEnd&) const = default;
};

// The run is over, and every hold was released or has expired: what is left in the store.
struct End {
  std::uint64_t holds = 0;
  std::uint64_t waiters = 0;
  std::uint64_t connections = 0;
  bool operator==(const End&) const = default;
};

// What this run has to contain at least; otherwise it shows nothing. It is part of the history, so
// that the checker needs no other input.
struct Expect {
  std::uint64_t grants = 0;
  std::uint64_t overlaps = 0;
  std::uint64_t busy = 0;
  std::uint64_t faults = 0;
  // Acquires that waited, and were granted when the set became free. Without faults nearly all of
  // them have to be prompt: see Rules::late_wakeups.
  std::uint64_t wakeups = 0;
  std::uint64_t ends = 0;
  bool operator==(const Expect&) const = default;
};

// The store bounds how often a waiter is overtaken. Without faults nearly all waiters have to be
// overtaken no more often: see Rules::overtaken.
struct Bounded {
  std::uint32_t overtakes = 0;
  bool operator==(const Bounded&) const = default;
};

using What =
    std::variant<Ask, Granted, Busy, TimedOut, Unknown, Refused, Renew, Renewed, NotRenewed,
                 RenewUnknown, Lost, Valid, Release, Released, ReleaseUnknown, NotHeld, Use, Kill,
                 Stop, Cont, FaultBegin, FaultEnd, RestoreBegin, RestoreEnd, DemotedBegin,
                 DemotedEnd, PermitsBegin, PermitsEnd, SeenBegin, Seen, SeenEnd, End, Expect,
                 Bounded, Condition, Observe, Observed, NotObserved, Validate, Unchanged, Changed,
                 NotValidated, Replace, CutBegin, CutEnd>;

struct Event {
  TimePoint time;
  What what;
  bool operator==(const Event&) const = default;
};

// What one process wrote, in the order of writing.
struct Log {
  std::string source;  // for messages: the file; may be empty
  std::string process;
  std::vector<Event> events;  // event i is line i + 2
};

using History = std::vector<Log>;

}  // namespace lockset::history
