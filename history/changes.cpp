// I10: a name that is said to have changed, or to be written, was perhaps written. Semantics
// 27, 28.
//
// A false "changed" breaks no promise of safety, so a small share is tolerated in runs with faults.
#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/time_math.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

// When somebody may have been granted a write of one name, and when such a hold may have been
// there.
class MayWrite {
 public:
  MayWrite(const Timeline& line, const Rules& rules, std::uint32_t name) {
    for (const ItemRef& ref : line.asks_of[name]) {
      const Op& op = line.ops[ref.op];
      if (line.items[ref.item].mode != Mode::write || !op.may_hold()) continue;
      TimePoint granted = op.returned;
      const auto& killed = line.processes[op.process].killed;
      if (op.outcome == Op::Outcome::none && killed) granted = *killed;
      if (!op.granted()) granted = later(granted, rules.late);
      TimePoint there = op.may_end;
      for (const Return& again : line.returns.of(ref.op)) {
        there = std::max(there, again.during.end);
      }
      times_.push_back({op.asked, granted, there});
    }
    std::sort(times_.begin(), times_.end(),
              [](const Times& a, const Times& b) { return a.asked < b.asked; });
    for (std::size_t i = 1; i < times_.size(); ++i) {
      times_[i].granted = std::max(times_[i].granted, times_[i - 1].granted);
      times_[i].there = std::max(times_[i].there, times_[i - 1].there);
    }
  }
  [[nodiscard]] bool granted(Interval during) const {
    const Times* const until = asked_by(during.end);
    return until != nullptr && until->granted >= during.begin;
  }
  [[nodiscard]] bool there(Interval during) const {
    const Times* const until = asked_by(during.end);
    return until != nullptr && until->there >= during.begin;
  }

 private:
  struct Times {
    TimePoint asked;
    // Of all that were asked for until then: the last moments.
    TimePoint granted;
    TimePoint there;
  };
  [[nodiscard]] const Times* asked_by(TimePoint time) const {
    const auto after =
        std::upper_bound(times_.begin(), times_.end(), time,
                         [](TimePoint at, const Times& each) { return at < each.asked; });
    return after == times_.begin() ? nullptr : &*std::prev(after);
  }
  std::vector<Times> times_;
};

// Answers that nothing explains.
class Spurious {
 public:
  Spurious(const Timeline& line, const Rules& rules) : line_(line), rules_(rules) {}

  std::vector<std::function<std::string()>> find() {
    for (const Observation& each : line_.observations) check_said(each);
    for (const Validation& each : line_.validations) {
      if (each.answer != Validation::Answer::changed) continue;
      check_changed(line_.observations[each.observation], each.returned, each.told,
                    [this, &each] { return line_.tell(each); });
    }
    for (const Op& op : line_.ops) {
      if (op.outcome != Op::Outcome::changed) continue;
      check_changed(line_.observations[op.condition], op.returned, {},
                    [this, &op] { return line_.tell(op); });
    }
    return std::move(found_);
  }

 private:
  const MayWrite& may_write(std::uint32_t name) {
    std::optional<MayWrite>& made = by_name_[name];
    if (!made) made.emplace(line_, rules_, name);
    return *made;
  }
  // A store that was restored has lost what was observed.
  [[nodiscard]] bool restored(Interval during) const {
    return std::any_of(line_.restores.begin(), line_.restores.end(), [&](const Restore& each) {
      return each.during.begin <= during.end && each.during.end >= during.begin;
    });
  }
  void check_said(const Observation& seen) {
    for (const SeenItem& item : seen.items) {
      if (!item.being_written || may_write(item.name).there({seen.asked, seen.returned})) continue;
      found_.push_back([this, &seen, name = item.name] {
        return "name " + in_quotes(line_.names[name]) +
               " was said to be written, and nobody can have written it\n  " + line_.tell(seen);
      });
    }
  }
  void check_changed(const Observation& seen, TimePoint answered,
                     const std::vector<std::uint32_t>& told, std::function<std::string()> tell) {
    const Interval since{seen.asked, answered};
    if (restored(since)) return;
    const auto may_count = [&](const SeenItem& item) {
      return item.being_written || may_write(item.name).granted(since);
    };
    const auto explained = [&](std::uint32_t name) {
      const auto at = std::find_if(seen.items.begin(), seen.items.end(),
                                   [&](const SeenItem& item) { return item.name == name; });
      return at != seen.items.end() && may_count(*at);
    };
    const bool good = told.empty() ? std::any_of(seen.items.begin(), seen.items.end(), may_count)
                                   : std::all_of(told.begin(), told.end(), explained);
    if (good) return;
    found_.push_back([this, &seen, tell = std::move(tell)] {
      return "was told that a name has changed, and nobody can have written it\n  " +
             line_.tell(seen) + "\n  " + tell();
    });
  }

  const Timeline& line_;
  const Rules& rules_;
  std::unordered_map<std::uint32_t, std::optional<MayWrite>> by_name_;
  std::vector<std::function<std::string()>> found_;
};

}  // namespace

void check_changes(const Timeline& line, const Rules& rules, Findings& findings, Counts& counts) {
  for (const Validation& each : line.validations) {
    if (each.answer == Validation::Answer::changed) ++counts.changed;
  }
  Spurious spurious(line, rules);
  const auto found = spurious.find();
  counts.spurious_changes = found.size();
  const double borne =
      line.had_trouble() ? rules.spurious_changes * static_cast<double>(counts.changed) : 0;
  if (static_cast<double>(found.size()) <= borne) return;
  for (const auto& story : found) findings.add(Invariant::observing, story);
}

}  // namespace lockset::history
