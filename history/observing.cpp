// I10: what was observed and still counts as unchanged was not written meanwhile. Semantics 27, 28.
//
// Three answers show that a name had a certain trace at some instant of their call: an observation,
// a validation that says "unchanged", and a grant on a condition. A trace that was replaced never
// comes again. So between the first and the last of the calls that show the same trace no write can
// have been granted: none that was asked for after the first one had answered (or that has a
// greater stamp than the write that left this trace), and certainly granted before the last one was
// asked for. And a write hold that was certainly there when a name was observed was granted before,
// so the observation has to say that the name is being written; or it was granted afterwards, and
// no later answer shows the same trace.
//
// changes.cpp has the other way round.
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "history/timeline.h"

namespace lockset::history {
namespace {

// A call at some instant of which a name had this trace.
struct Sight {
  std::uint32_t name = 0;
  Stamp trace;
  TimePoint asked;
  TimePoint answered;
  enum class Call : std::uint8_t { observation, validation, acquire } call = Call::observation;
  std::uint32_t index = 0;    // in the timeline's list of these
  bool being_written = true;  // of an observation
};

std::string tell(const Timeline& line, const Sight& sight) {
  switch (sight.call) {
    case Sight::Call::observation:
      return line.tell(line.observations[sight.index]);
    case Sight::Call::validation:
      return line.tell(line.validations[sight.index]);
    case Sight::Call::acquire:
      return line.tell(line.ops[sight.index]);
  }
  return {};
}

// By name, then trace.
std::vector<Sight> sights_of(const Timeline& line) {
  std::vector<Sight> sights;
  const auto add = [&](const Observation& seen, Sight sight) {
    for (const SeenItem& item : seen.items) {
      sight.name = item.name;
      sight.trace = item.last_write;
      sight.being_written = item.being_written;
      sights.push_back(sight);
    }
  };
  for (std::uint32_t i = 0; i < line.observations.size(); ++i) {
    const Observation& each = line.observations[i];
    add(each, {0, {}, each.asked, each.returned, Sight::Call::observation, i});
  }
  for (std::uint32_t i = 0; i < line.validations.size(); ++i) {
    const Validation& each = line.validations[i];
    if (each.answer != Validation::Answer::unchanged) continue;
    add(line.observations[each.observation],
        {0, {}, each.asked, each.returned, Sight::Call::validation, i});
  }
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& each = line.ops[i];
    if (!each.granted() || each.condition == nobody) continue;
    add(line.observations[each.condition],
        {0, {}, each.asked, each.returned, Sight::Call::acquire, i});
  }
  std::sort(sights.begin(), sights.end(), [](const Sight& a, const Sight& b) {
    return std::tie(a.name, a.trace, a.answered) < std::tie(b.name, b.trace, b.answered);
  });
  return sights;
}

// The write grants of one name.
class Writes {
 public:
  Writes(const Timeline& line, std::uint32_t name) : line_(line) {
    std::vector<ItemRef> grants;
    for (const ItemRef& ref : line.asks_of[name]) {
      if (line.ops[ref.op].granted()) grants.push_back(ref);
    }
    sort(grants, [](const Op& op) { return op.stamp; });
    // Only the stamps of grants that exclude each other tell which one came first: a write that has
    // drawn its stamp may be granted, and show in the trace, after one with a greater stamp that
    // has nothing to do with it.
    TimePoint read = TimePoint::max();
    TimePoint alone = TimePoint::max();
    for (std::size_t i = grants.size(); i-- > 0;) {
      const Op& op = line.ops[grants[i].op];
      const Item& item = line.items[grants[i].item];
      if (item.mode == Mode::read) {
        read = std::min(read, op.known);
        continue;
      }
      const bool single = item.permits < 2;
      const TimePoint latest = std::min({op.known, read, single ? alone : TimePoint::max()});
      if (single) alone = std::min(alone, op.known);
      by_stamp_.push_back({grants[i], latest});
    }
    std::reverse(by_stamp_.begin(), by_stamp_.end());
    by_asked_ = by_stamp_;
    std::stable_sort(by_asked_.begin(), by_asked_.end(), [&](const Write& a, const Write& b) {
      return line.ops[a.ref.op].asked < line.ops[b.ref.op].asked;
    });
    soonest_.resize(by_stamp_.size());
    for (std::size_t i = by_stamp_.size(); i-- > 0;) {
      soonest_[i] = i;
      if (i + 1 == by_stamp_.size()) continue;
      const std::size_t after = soonest_[i + 1];
      if (by_stamp_[after].latest < by_stamp_[i].latest) soonest_[i] = after;
    }
  }

  struct Write {
    ItemRef ref;
    TimePoint latest;  // by when it was certainly granted
  };
  [[nodiscard]] const std::vector<Write>& by_asked() const { return by_asked_; }
  // The grant with this stamp; nobody if there is none.
  [[nodiscard]] std::uint32_t with(Stamp stamp) const {
    const auto at = from(stamp);
    const bool there = at != by_stamp_.end() && line_.ops[at->ref.op].stamp == stamp;
    return there ? at->ref.op : nobody;
  }
  // One that was asked for after `begin` and certainly granted before `end`.
  [[nodiscard]] std::uint32_t within(TimePoint begin, TimePoint end) const {
    auto at = std::upper_bound(
        by_asked_.begin(), by_asked_.end(), begin,
        [&](TimePoint time, const Write& write) { return time < line_.ops[write.ref.op].asked; });
    for (; at != by_asked_.end() && line_.ops[at->ref.op].asked < end; ++at) {
      if (at->latest < end) return at->ref.op;
    }
    return nobody;
  }
  // One with a greater stamp that was certainly granted before `end`.
  [[nodiscard]] std::uint32_t above(Stamp stamp, TimePoint end) const {
    const auto at = from(Stamp{stamp.value + 1});
    if (at == by_stamp_.end()) return nobody;
    const Write& write = by_stamp_[soonest_[static_cast<std::size_t>(at - by_stamp_.begin())]];
    return write.latest < end ? write.ref.op : nobody;
  }
  // Those with a stamp between the two.
  template <class Each>
  void between(Stamp low, Stamp high, Each&& each) const {
    for (auto at = from(Stamp{low.value + 1});
         at != by_stamp_.end() && line_.ops[at->ref.op].stamp < high; ++at) {
      each(*at);
    }
  }

 private:
  template <class Key>
  void sort(std::vector<ItemRef>& refs, Key key) {
    std::sort(refs.begin(), refs.end(), [&](const ItemRef& a, const ItemRef& b) {
      return std::pair(key(line_.ops[a.op]), a.op) < std::pair(key(line_.ops[b.op]), b.op);
    });
  }
  [[nodiscard]] std::vector<Write>::const_iterator from(Stamp stamp) const {
    return std::lower_bound(
        by_stamp_.begin(), by_stamp_.end(), stamp,
        [&](const Write& write, Stamp other) { return line_.ops[write.ref.op].stamp < other; });
  }

  const Timeline& line_;
  std::vector<Write> by_asked_;
  std::vector<Write> by_stamp_;
  std::vector<std::size_t> soonest_;  // of by_stamp_ from there on: the least `latest`
};

// What shows one trace of one name, and what follows from all of it together.
struct Span {
  std::uint32_t name = 0;
  Stamp trace;
  const Sight* first = nullptr;   // that answered first
  const Sight* last = nullptr;    // that was asked for last
  TimePoint over;                 // the last answer
  std::uint32_t writer = nobody;  // the write that left the trace, if that is known
  // The grants that were asked for until then may have been forgotten.
  std::optional<TimePoint> forgotten{};

  [[nodiscard]] bool counts(const Op& op) const { return !forgotten || op.asked > *forgotten; }
};

class NameCheck {
 public:
  NameCheck(const Timeline& line, const Rules& rules, Findings& findings, std::uint32_t name)
      : line_(line), rules_(rules), findings_(findings), writes_(line, name) {}

  // `sights`: all of one trace, the one that answered first before all others.
  void add(std::span<const Sight> sights) {
    Span span{sights.front().name, sights.front().trace, &sights.front(), &sights.front(), {}};
    for (const Sight& each : sights) {
      if (each.asked > span.last->asked) span.last = &each;
      span.over = std::max(span.over, each.answered);
    }
    span.writer = writes_.with(span.trace);
    for (const Restore& each : line_.restores) {
      if (!each.forgets || each.during.begin > span.over) continue;
      span.forgotten = std::max(span.forgotten.value_or(each.during.end), each.during.end);
    }
    check_first(span);
    check_between(span);
    for (const Sight& each : sights) {
      if (each.call == Sight::Call::acquire) check_grant(span, each);
      const bool quiet = each.call == Sight::Call::observation && !each.being_written;
      if (quiet) quiet_.push_back({each, spans_.size()});
    }
    spans_.push_back(span);
  }

  // After all traces of the name.
  void check_being_written() {
    if (!rules_.leases_last) return;
    std::sort(quiet_.begin(), quiet_.end(),
              [](const Quiet& a, const Quiet& b) { return a.sight.answered < b.sight.answered; });
    std::vector<Writes::Write> there;  // asked for until then, and certainly there afterwards
    auto next = writes_.by_asked().begin();
    for (const Quiet& each : quiet_) {
      const TimePoint at = each.sight.answered;
      for (; next != writes_.by_asked().end() && line_.ops[next->ref.op].asked <= at; ++next) {
        there.push_back(*next);
      }
      std::erase_if(there, [&](const Writes::Write& write) {
        return line_.ops[write.ref.op].must_end <= at;
      });
      const Span& span = spans_[each.span];
      for (const Writes::Write& write : there) {
        const Op& op = line_.ops[write.ref.op];
        // Before the trace for certain; or perhaps afterwards, and then the trace would be another
        // one. (check_between tells of those that were certainly granted afterwards.)
        const bool before = span.writer != nobody && op.stamp <= span.trace;
        const bool after = span.writer != nobody && !before && !span.forgotten;
        const bool either = !after && write.latest < span.last->asked;
        if (!span.counts(op) || (!before && !either)) continue;
        complain(span, "was said not to be written, though a write hold was there", each.sight, op,
                 before ? nullptr : span.last);
      }
    }
  }

 private:
  struct Quiet {  // said of a name that it is not being written
    Sight sight;
    std::size_t span = 0;
  };

  void complain(const Span& span, const std::string& rule, const Sight& sight, const Op& write,
                const Sight* later) {
    findings_.add(Invariant::observing, [&] {
      return "name " + in_quotes(line_.names[span.name]) + " with the trace " +
             std::to_string(span.trace.value) + " " + rule + "\n  " + tell(line_, sight) + "\n  " +
             line_.tell(write) + (later == nullptr ? "" : "\n  " + tell(line_, *later));
    });
  }

  void check_first(const Span& span) {
    if (span.writer == nobody || line_.ops[span.writer].asked <= span.first->answered) return;
    complain(span, "was seen before the write that left it was asked for", *span.first,
             line_.ops[span.writer], nullptr);
  }

  void check_between(const Span& span) {
    const TimePoint end = span.last->asked;
    std::uint32_t write = nobody;
    if (span.writer != nobody && !span.forgotten) write = writes_.above(span.trace, end);
    if (write == nobody) {
      const TimePoint begin = span.first->answered;
      write = writes_.within(std::max(begin, span.forgotten.value_or(begin)), end);
    }
    if (write == nobody) return;
    complain(span, "counts as unchanged, though a write was granted in between", *span.first,
             line_.ops[write], span.last);
  }

  // The stamps order the grants of a name, however long their calls took.
  void check_grant(const Span& span, const Sight& sight) {
    const Op& grant = line_.ops[sight.index];
    const Item* own = nullptr;
    for (const Item& each : line_.set_of(grant)) {
      if (each.name == span.name) own = &each;
    }
    if (own == nullptr) return;  // the core refuses that
    writes_.between(span.trace, grant.stamp, [&](const Writes::Write& each) {
      const Op& write = line_.ops[each.ref.op];
      const Item& item = line_.items[each.ref.item];
      const bool conflict = own->mode == Mode::read || std::max(own->permits, item.permits) < 2;
      const bool after = span.writer != nobody || write.asked > span.first->answered;
      // check_between has reported it otherwise.
      const bool overlaps = each.latest >= span.last->asked;
      if (!conflict || !after || !overlaps || !span.counts(write)) return;
      complain(span, "counts as unchanged, though a write has a stamp in between", *span.first,
               write, &sight);
    });
  }

  const Timeline& line_;
  const Rules& rules_;
  Findings& findings_;
  const Writes writes_;
  std::vector<Span> spans_;
  std::vector<Quiet> quiet_;
};

void check_traces(const Timeline& line, const Rules& rules, Findings& findings) {
  const std::vector<Sight> sights = sights_of(line);
  for (auto at = sights.begin(); at != sights.end();) {
    const std::uint32_t name = at->name;
    NameCheck check(line, rules, findings, name);
    while (at != sights.end() && at->name == name) {
      const auto end = std::find_if(at, sights.end(), [&](const Sight& each) {
        return each.name != name || each.trace != at->trace;
      });
      check.add({at, end});
      at = end;
    }
    check.check_being_written();
  }
}

const SeenItem* being_written(const Observation& seen) {
  const auto at = std::find_if(seen.items.begin(), seen.items.end(),
                               [](const SeenItem& item) { return item.being_written; });
  return at == seen.items.end() ? nullptr : &*at;
}

void check_half_written(const Timeline& line, Findings& findings) {
  const auto check = [&](const Observation& seen, const std::function<std::string()>& use) {
    const SeenItem* const item = being_written(seen);
    if (item == nullptr) return;
    findings.add(Invariant::observing, [&] {
      return "name " + in_quotes(line.names[item->name]) +
             " counts as unchanged, though it was being written\n  " + line.tell(seen) + "\n  " +
             use();
    });
  };
  for (const Validation& each : line.validations) {
    if (each.answer != Validation::Answer::unchanged) continue;
    check(line.observations[each.observation], [&] { return line.tell(each); });
  }
  for (const Op& op : line.ops) {
    if (!op.granted() || op.condition == nobody) continue;
    check(line.observations[op.condition], [&] { return line.tell(op); });
  }
}

}  // namespace

void check_observing(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts) {
  counts.observations = line.observations.size();
  for (const Validation& each : line.validations) {
    if (each.answer == Validation::Answer::unchanged) ++counts.unchanged;
  }
  for (const Op& op : line.ops) {
    if (op.granted() && op.condition != nobody) ++counts.conditional;
  }
  check_traces(line, rules, findings);
  check_half_written(line, findings);
}

}  // namespace lockset::history
