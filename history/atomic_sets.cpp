// I3: a snapshot of the store shows each hold whole, shows all holds that were certainly there, and
// shows nothing that was not granted.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "history/timeline.h"

namespace lockset::history {
namespace {

using Names = std::vector<std::pair<std::uint32_t, Mode>>;

Names names_of(std::span<const Item> set) {
  Names names;
  for (const Item& item : set) names.emplace_back(item.name, item.mode);
  std::sort(names.begin(), names.end());
  return names;
}

// For the asks of one set whose outcome is unknown: when any of them may have been held.
class Perhaps {
 public:
  void add(Interval interval) { intervals_.push_back(interval); }
  void arrange() {
    std::sort(intervals_.begin(), intervals_.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    for (std::size_t i = 1; i < intervals_.size(); ++i) {
      intervals_[i].end = std::max(intervals_[i].end, intervals_[i - 1].end);
    }
  }
  [[nodiscard]] bool meets(Interval other) const {
    const auto after =
        std::upper_bound(intervals_.begin(), intervals_.end(), other.end,
                         [](TimePoint time, const Interval& each) { return time < each.begin; });
    return after != intervals_.begin() && std::prev(after)->end >= other.begin;
  }

 private:
  std::vector<Interval> intervals_;
};

std::string told(const Timeline& line, const Snapshot& snapshot, const Row& row) {
  std::string text = "the store showed stamp " + std::to_string(row.stamp.value) + " between " +
                     line.at(snapshot.taken.begin) + " and " + line.at(snapshot.taken.end) +
                     " with";
  for (const Item& item : row.set) {
    text += " " + std::string(to_string(item.mode)) + " " + in_quotes(line.names[item.name]);
  }
  return text;
}

// The holds that were certainly there during a whole snapshot. Takes snapshots in the order of
// time.
class SurelyThere {
 public:
  explicit SurelyThere(const Timeline& line) : line_(line) {
    for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
      const Op& op = line.ops[i];
      if (op.granted() && op.must_end > op.returned) to_come_.push_back(i);
    }
    std::sort(to_come_.begin(), to_come_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return line.ops[a].returned > line.ops[b].returned;
    });
  }
  template <class Each>
  void during(Interval snapshot, Each&& each) {
    while (!to_come_.empty() && line_.ops[to_come_.back()].returned <= snapshot.begin) {
      there_.push_back(to_come_.back());
      to_come_.pop_back();
    }
    std::erase_if(there_, [&](std::uint32_t i) { return line_.ops[i].must_end <= snapshot.begin; });
    for (const std::uint32_t i : there_) {
      if (line_.ops[i].must_end > snapshot.end) each(line_.ops[i]);
    }
  }

 private:
  const Timeline& line_;
  std::vector<std::uint32_t> to_come_;  // sorted by the time of the grant; the next one is last
  std::vector<std::uint32_t> there_;
};

}  // namespace

void check_atomic_sets(const Timeline& line, const Rules& rules, Findings& findings) {
  if (line.snapshots.empty()) return;
  std::vector<std::pair<Stamp, std::uint32_t>> granted;
  std::map<Names, Perhaps> perhaps;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (op.granted()) {
      granted.emplace_back(op.stamp, i);
    } else if (op.may_hold()) {
      Perhaps& times = perhaps[names_of(line.set_of(op))];
      times.add({op.asked, op.may_end});
      for (const Return& again : line.returns.of(i)) times.add(again.during);
    }
  }
  std::sort(granted.begin(), granted.end());
  for (auto& [names, intervals] : perhaps) intervals.arrange();

  // A restore may take several steps: a snapshot during one shows what is there so far.
  const auto disturbed = [&](const Snapshot& snapshot) {
    return std::any_of(line.restores.begin(), line.restores.end(), [&](const Restore& each) {
      return each.during.begin <= snapshot.taken.end && each.during.end >= snapshot.taken.begin;
    });
  };
  SurelyThere surely(line);
  for (const Snapshot& snapshot : line.snapshots) {
    if (disturbed(snapshot)) continue;
    std::set<Stamp> all;
    for (const Row& row : snapshot.rows) all.insert(row.stamp);
    std::set<Stamp> shown;
    for (const Row& row : snapshot.rows) {
      const auto complain = [&](const std::string& rule, const Op* op) {
        findings.add(Invariant::atomic_sets, [&] {
          return rule + ": " + told(line, snapshot, row) +
                 (op == nullptr ? "" : "\n  " + line.tell(*op));
        });
      };
      if (!shown.insert(row.stamp).second) complain("one hold is shown twice", nullptr);
      const Names names = names_of(row.set);
      const auto at =
          std::lower_bound(granted.begin(), granted.end(), std::pair(row.stamp, std::uint32_t{0}));
      if (at == granted.end() || at->first != row.stamp) {
        const auto asked = perhaps.find(names);
        const bool possible = asked != perhaps.end() &&
                              (!rules.snapshots_current || asked->second.meets(snapshot.taken));
        if (!possible) {
          complain("nobody was granted that, nor may have been", nullptr);
        }
        continue;
      }
      const Op& op = line.ops[at->second];
      if (op.replaces && all.contains(op.replaces)) {
        complain("a hold together with the one whose place it took", &op);
      }
      if (names != names_of(line.set_of(op))) {
        complain("a part of a set, or another one", &op);
      } else if (snapshot.taken.end < op.asked) {
        complain("a hold before it was asked for", &op);
      } else if (rules.snapshots_current && !line.may_be_there(at->second, snapshot.taken)) {
        complain("a hold after its end", &op);
      }
    }
    if (!rules.leases_last || !rules.snapshots_current) continue;
    surely.during(snapshot.taken, [&](const Op& op) {
      if (shown.contains(op.stamp)) return;
      findings.add(Invariant::atomic_sets, [&] {
        return "a hold that was certainly there is missing in the snapshot between " +
               line.at(snapshot.taken.begin) + " and " + line.at(snapshot.taken.end) + "\n  " +
               line.tell(op);
      });
    });
  }
}

}  // namespace lockset::history
