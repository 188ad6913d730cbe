// A history in order: who asked for what, who may have held it and who must have. Built once; every
// invariant reads it. Used inside history/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "history/check.h"
#include "history/event.h"

namespace lockset::history {

inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

struct Interval {
  TimePoint begin;
  TimePoint end;  // not part of it
};

struct Item {
  std::uint32_t name = 0;
  Mode mode = Mode::write;
  std::uint32_t permits = 0;  // of the mode; if nobody recorded them, the most that may have
                              // applied
  bool said = false;          // the client recorded them
  Stamp floor;                // the grant's floor, or its stamp if it has none
  bool operator==(const Item&) const = default;
};

// An acquire and, if it was granted, the hold.
struct Op {
  enum class Outcome : std::uint8_t { none, granted, busy, timeout, unknown, refused, changed };

  std::uint32_t process = 0;
  Outcome outcome = Outcome::none;
  bool has_floors = false;
  std::uint64_t id = 0;
  std::uint32_t first_item = 0;
  std::uint32_t items = 0;
  TimePoint asked;
  TimePoint returned = TimePoint::max();  // max: it never returned, as far as the log shows
  Duration lease{};
  Duration wait{};
  std::uint32_t name = nobody;       // from a busy answer
  Stamp stamp;                       // of the grant, or the witness of a busy answer
  TimePoint until;                   // as granted; renewals move valid_end
  std::uint32_t condition = nobody;  // the observation that it depends on
  Stamp replaces;                    // the hold whose place it takes; 0: none

  // The members below are derived.
  // When valid() has to be false at the latest, after all renewals that came in time.
  TimePoint valid_end;
  // By when its grant was known: by its answer, or because an observation showed its stamp.
  TimePoint known = TimePoint::max();
  // The hold was certainly there from `returned` to must_end, if that is later, and perhaps from
  // `asked` to may_end. An op that was not certainly granted has only may_end.
  TimePoint must_end;
  TimePoint may_end;
  // must_end is so early because connections could break off.
  bool cut_off = false;
  // The grant that took its place when it was certainly there. must_end is then when that was asked
  // for, but no other grant came in between.
  std::uint32_t replaced_by = nobody;
  // The next grant with the same stamp; there should be none.
  std::uint32_t same_stamp = nobody;

  [[nodiscard]] bool granted() const noexcept { return outcome == Outcome::granted; }
  [[nodiscard]] bool may_hold() const noexcept {
    return granted() || outcome == Outcome::unknown || outcome == Outcome::none || gave_back();
  }
  // Perhaps it was granted, and its client gave it back: a process that was stopped meanwhile reads
  // the answer when the lease has ended for it. That takes more than half of a lease, for a margin
  // is no longer.
  [[nodiscard]] bool gave_back() const noexcept {
    return outcome == Outcome::refused && returned - asked >= lease / 2;
  }
};

struct SeenItem {  // of an observation
  std::uint32_t name = 0;
  Stamp last_write;
  bool being_written = false;
};
struct Observation {
  std::uint32_t process = 0;
  std::uint64_t id = 0;
  TimePoint asked;
  TimePoint returned = TimePoint::max();
  bool answered = false;
  std::vector<SeenItem> items{};
};
struct Validation {
  std::uint32_t process = 0;
  std::uint64_t id = 0;
  std::uint32_t observation = 0;
  TimePoint asked;
  TimePoint returned = TimePoint::max();
  enum class Answer : std::uint8_t { none, unchanged, changed, failed } answer = Answer::none;
  // The names that it said have changed; empty: it named none.
  std::vector<std::uint32_t> told{};
};

struct Renewal {
  std::uint32_t op = 0;
  std::uint32_t process = 0;
  TimePoint sent;
  TimePoint returned = TimePoint::max();
  enum class Answer : std::uint8_t { none, renewed, gone, unknown } answer = Answer::none;
  TimePoint until;
};

struct Ending {  // a release, a break, or the grant that takes its place
  std::uint32_t op = 0;
  std::uint32_t process = 0;
  TimePoint sent;
  TimePoint returned = TimePoint::max();
  enum class Answer : std::uint8_t { none, released, not_held, unknown } answer = Answer::none;
  // By an upgrade of unknown outcome: its holder still relies on it (semantics 29).
  bool relied_on = false;
};

struct Conversion {      // the call of an acquire that would take the place of a hold
  std::uint32_t op = 0;  // the hold
  Interval call;         // its end is part of it
  bool gives_up = false;
};

struct Sample {  // of valid()
  std::uint32_t op = 0;
  TimePoint asked;
  TimePoint answered;
  bool answer = false;
};

struct Loss {
  std::uint32_t op = 0;
  TimePoint at;
};

struct ResourceUse {
  std::uint32_t name = 0;
  std::uint32_t op = nobody;  // nobody: no process recorded a grant of this stamp
  Stamp stamp;
  TimePoint at;
  bool accepted = false;
};

struct PermitsChange {
  std::uint32_t name = 0;
  Interval during;  // end is TimePoint::max() if it never returned
  std::uint32_t read = 1;
  std::uint32_t write = 1;
};

struct Restore {
  Interval during;  // end is TimePoint::max() if it never returned
  // When the backup that is put back was taken; unset: nothing is put back.
  std::optional<Interval> backup;
  bool forgets = true;

  // Whether it may change the grant of an op that was asked for at that time.
  [[nodiscard]] bool concerns(TimePoint asked) const { return asked <= during.end; }
};

// A hold that was in a backup: from when to when it was perhaps there again.
struct Return {
  std::uint32_t op = 0;
  Interval during;
};

struct Row {  // of a snapshot
  Stamp stamp;
  std::vector<Item> set;
};
struct Snapshot {
  std::uint32_t process = 0;
  Interval taken;
  std::vector<Row> rows;
};

struct Process {
  std::string name;
  std::optional<TimePoint> killed;
  std::vector<Interval> stops;  // sorted; end is TimePoint::max() if it was not continued
  TimePoint last;               // its last event
};

struct Quiet {  // an End
  TimePoint at;
  End left;
};

// Spans of sorted groups: the records of op i.
template <class Record>
class ByOp {
 public:
  // Sorted by op, and within one op as the caller sorted them.
  std::vector<Record> all;
  void index(std::size_t ops) {
    starts_.assign(ops + 1, 0);
    for (const Record& each : all) ++starts_[each.op + 1];
    for (std::size_t i = 0; i < ops; ++i) starts_[i + 1] += starts_[i];
  }
  [[nodiscard]] std::span<const Record> of(std::size_t op) const {
    return std::span(all).subspan(starts_[op], starts_[op + 1] - starts_[op]);
  }

 private:
  std::vector<std::uint32_t> starts_;
};

struct ItemRef {
  std::uint32_t op = 0;
  std::uint32_t item = 0;  // in Timeline::items
};

struct Timeline {
  TimePoint first;
  TimePoint last;
  std::vector<std::string> names;
  std::vector<Process> processes;
  std::vector<Op> ops;
  std::vector<Item> items;
  std::vector<std::vector<ItemRef>> asks_of;  // by name: ops in the order of `ops`
  std::vector<Observation> observations;
  std::vector<Validation> validations;
  ByOp<Renewal> renewals;              // by sent
  ByOp<Ending> endings;                // by sent
  ByOp<Conversion> conversions;        // by the begin of the call
  ByOp<Sample> samples;                // by asked
  ByOp<Loss> losses;                   // by time
  std::vector<ResourceUse> uses;       // by name, then time
  std::vector<PermitsChange> permits;  // by name, then begin
  std::vector<Restore> restores;       // by begin
  ByOp<Return> returns;                // by begin
  std::vector<Interval> demotions;
  std::vector<Interval> cuts;       // in order, none meets another
  std::vector<Snapshot> snapshots;  // by begin
  std::vector<Interval> faults;     // of kinds other than kill and stop; by begin
  std::vector<Quiet> ends;
  Expect expect;
  std::optional<std::uint32_t> most_overtakes;  // of the Bounded events: the greatest
  std::uint64_t kills = 0;
  std::uint64_t stops = 0;

  [[nodiscard]] std::span<const Item> set_of(const Op& op) const {
    return std::span(items).subspan(op.first_item, op.items);
  }
  // When all trouble is over: the end of the last fault, kill or stop; `first` if there was none,
  // TimePoint::max() if one never ended.
  [[nodiscard]] TimePoint last_trouble() const;
  [[nodiscard]] bool had_trouble() const {
    return kills + stops + faults.size() + restores.size() > 0;
  }
  // Whether there was a fault during that time, or the process was stopped.
  [[nodiscard]] bool had_trouble(std::uint32_t process, Interval during) const;
  // Whether the hold was perhaps there at some moment of `during`.
  [[nodiscard]] bool may_be_there(std::uint32_t op, Interval during) const;
  // Whether a hold that had ended by `ended` may have been put back by `seen`.
  [[nodiscard]] bool may_have_returned(const Op& op, TimePoint ended, TimePoint seen) const;
  // Whether validity may only have been interrupted when `sample` was taken, by a downgrade.
  [[nodiscard]] bool interrupted(const Sample& sample) const;
  // `from` plus `delay`. If the process was stopped in that interval, `delay` counts again from the
  // moment when it continued.
  [[nodiscard]] TimePoint put_off(std::uint32_t process, TimePoint from, Duration delay) const;

  // When valid() has to be false at the latest, by the answers that came until `known`.
  [[nodiscard]] TimePoint valid_end(const Op& op, std::size_t index, TimePoint known) const;

  // For stories.
  [[nodiscard]] std::string at(TimePoint time) const;  // "12.345 ms"
  [[nodiscard]] std::string tell(const Op& op) const;  // one line
  [[nodiscard]] std::string tell(const Observation& observation) const;
  [[nodiscard]] std::string tell(const Validation& validation) const;
};

// When a hold with such a lease that reached the store at `arrived` has certainly ended there.
TimePoint expiry(const Rules& rules, Duration lease, TimePoint arrived);

// Errors as in check().
Result<Timeline> make_timeline(const History& history, const Rules& rules);

// Derives what follows from all events together: permits that nobody recorded, the ends of Op.
// REQUIRES: everything else is set and sorted.
void work_out(Timeline& line, const Rules& rules);

// Derives Op::known.
void work_out_known(Timeline& line);

// Collects violations. Only some are reported, and the story is made only for those.
class Findings {
 public:
  Findings(const Rules& rules, Report& report) : rules_(rules), report_(report) {}
  template <class Story>
  void add(Invariant invariant, Story&& story) {
    if (++report_.found[static_cast<std::size_t>(invariant)] > rules_.most_told) return;
    report_.violations.push_back({invariant, story()});
  }

 private:
  const Rules& rules_;
  Report& report_;
};

void check_exclusion(const Timeline& line, const Rules& rules, Findings& findings);
void check_demotion(const Timeline& line, const Rules& rules, Findings& findings);
void check_fencing(const Timeline& line, const Rules& rules, Findings& findings);
void check_atomic_sets(const Timeline& line, const Rules& rules, Findings& findings);
// Also counts busy answers that nothing explains.
void check_busy(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts);
void check_lease(const Timeline& line, const Rules& rules, Findings& findings);
void check_resource(const Timeline& line, const Rules& rules, Findings& findings);
void check_liveness(const Timeline& line, const Rules& rules, Findings& findings);
// Also counts wake-ups.
void check_wakeups(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts);
// Also counts who was overtaken too often.
void check_overtaking(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts);
void check_leaks(const Timeline& line, const Rules& rules, Findings& findings);
void check_permits(const Timeline& line, const Rules& rules, Findings& findings);
// Also counts observations.
void check_observing(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts);
// Also counts answers that nothing explains.
void check_changes(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts);

}  // namespace lockset::history
