// The second walk: what happened to the holds, and everything else.
#include <algorithm>
#include <utility>

#include "history/gather.h"

namespace lockset::history {

namespace {

class Incidents {
 public:
  explicit Incidents(Gathering& all) : all_(all) {}

  template <class T>
  void operator()(const T&) {}

  void operator()(const Renew& what) { begin(all_.line.renewals.all, what.stamp); }
  void operator()(const Renewed& what) {
    end(all_.line.renewals.all, what.stamp, Renewal::Answer::renewed, what.until);
  }
  void operator()(const NotRenewed& what) {
    end(all_.line.renewals.all, what.stamp, Renewal::Answer::gone);
  }
  void operator()(const RenewUnknown& what) {
    end(all_.line.renewals.all, what.stamp, Renewal::Answer::unknown);
  }
  void operator()(const Release& what) { begin(all_.line.endings.all, what.stamp); }
  void operator()(const Released& what) {
    end(all_.line.endings.all, what.stamp, Ending::Answer::released);
  }
  void operator()(const ReleaseUnknown& what) {
    end(all_.line.endings.all, what.stamp, Ending::Answer::unknown);
  }
  void operator()(const NotHeld& what) {
    end(all_.line.endings.all, what.stamp, Ending::Answer::not_held);
  }

  void operator()(const Lost& what) {
    if (const std::uint32_t op = all_.hold_of(what.stamp); op != nobody) {
      all_.line.losses.all.push_back({op, all_.now});
    }
  }
  void operator()(const Valid& what) {
    if (const std::uint32_t op = all_.hold_of(what.stamp); op != nobody) {
      all_.line.samples.all.push_back({op, what.asked, all_.now, what.answer});
    }
  }
  void operator()(const Use& what) {
    all_.line.uses.push_back(
        {all_.name_of(what.name), all_.hold_of(what.stamp), what.stamp, all_.now, what.accepted});
  }

  void operator()(const Kill& what) {
    ++all_.line.kills;
    const std::uint32_t process = all_.process_of(what.process);
    if (process == nobody) return;
    auto& killed = all_.line.processes[process].killed;
    killed = killed ? std::min(*killed, all_.now) : all_.now;
  }
  void operator()(const Stop& what) {
    ++all_.line.stops;
    const std::uint32_t process = all_.process_of(what.process);
    if (process == nobody) return;
    all_.line.processes[process].stops.push_back({all_.now, TimePoint::max()});
  }
  void operator()(const Cont& what) {
    const std::uint32_t process = all_.process_of(what.process);
    if (process == nobody) return;
    for (Interval& stop : all_.line.processes[process].stops) {
      if (stop.begin <= all_.now) stop.end = std::min(stop.end, all_.now);
    }
  }
  void operator()(const FaultBegin& what) {
    open_faults_[what.kind].push_back(all_.line.faults.size());
    all_.line.faults.push_back({all_.now, TimePoint::max()});
  }
  void operator()(const FaultEnd& what) {
    std::vector<std::size_t>& open = open_faults_[what.kind];
    if (open.empty()) {
      all_.complaint = "a fault ends that did not begin: kind=" + what.kind;
      return;
    }
    all_.line.faults[open.back()].end = all_.now;
    open.pop_back();
  }

  void operator()(const RestoreBegin& what) {
    if (restore_) {
      all_.complaint = "a restore begins while another is under way";
      return;
    }
    if (what.from > what.until) {
      all_.complaint = "a backup that ended before it began";
      return;
    }
    restore_ = all_.line.restores.size();
    Restore& restore = all_.line.restores.emplace_back();
    restore.during = {all_.now, TimePoint::max()};
    if (what.until != TimePoint{}) restore.backup = Interval{what.from, what.until};
    restore.forgets = what.forgets;
  }
  void operator()(const RestoreEnd&) {
    if (!restore_) {
      all_.complaint = "a restore ends that did not begin";
      return;
    }
    all_.line.restores[*restore_].during.end = all_.now;
    restore_.reset();
  }

  void operator()(const DemotedBegin&) {
    if (demotion_) {
      all_.complaint = "a server is demoted that was demoted before";
      return;
    }
    demotion_ = all_.line.demotions.size();
    all_.line.demotions.push_back({all_.now, TimePoint::max()});
  }
  void operator()(const DemotedEnd&) {
    if (!demotion_) {
      all_.complaint = "a demotion ends that did not begin";
      return;
    }
    all_.line.demotions[*demotion_].end = all_.now;
    demotion_.reset();
  }

  void operator()(const CutBegin& what) {
    open_cuts_[what.kind].push_back(all_.line.cuts.size());
    all_.line.cuts.push_back({all_.now, TimePoint::max()});
  }
  void operator()(const CutEnd& what) {
    std::vector<std::size_t>& open = open_cuts_[what.kind];
    if (open.empty()) {
      all_.complaint = "a cut ends that did not begin: kind=" + what.kind;
      return;
    }
    all_.line.cuts[open.back()].end = all_.now;
    open.pop_back();
  }

  void operator()(const PermitsBegin& what) {
    const std::uint32_t name = all_.name_of(what.name);
    open_permits_[name] = all_.line.permits.size();
    all_.line.permits.push_back({name, {all_.now, TimePoint::max()}, what.read, what.write});
  }
  void operator()(const PermitsEnd& what) {
    const auto at = open_permits_.find(all_.name_of(what.name));
    if (at == open_permits_.end()) {
      all_.complaint = "a change of permits ends that did not begin";
      return;
    }
    PermitsChange& change = all_.line.permits[at->second];
    change.during.end = all_.now;
    if (change.read != what.read || change.write != what.write) {
      all_.complaint = "a change of permits ends with other values than it began with";
    }
    open_permits_.erase(at);
  }

  void operator()(const SeenBegin&) {
    snapshot_ = Snapshot{all_.process, {all_.now, all_.now}, {}};
  }
  void operator()(const Seen& what) {
    if (!snapshot_) {
      all_.complaint = "seen without seen_begin";
      return;
    }
    Row& row = snapshot_->rows.emplace_back();
    row.stamp = what.stamp;
    for (const Wish& wish : what.set) {
      row.set.push_back({all_.name_of(wish.name), wish.mode, 0, false, {}});
    }
  }
  void operator()(const SeenEnd&) {
    if (!snapshot_) {
      all_.complaint = "seen_end without seen_begin";
      return;
    }
    snapshot_->taken.end = all_.now;
    all_.line.snapshots.push_back(std::move(*snapshot_));
    snapshot_.reset();
  }
  void operator()(const End& what) { all_.line.ends.push_back({all_.now, what}); }
  void operator()(const Expect& what) {
    all_.line.expect.grants += what.grants;
    all_.line.expect.overlaps += what.overlaps;
    all_.line.expect.busy += what.busy;
    all_.line.expect.faults += what.faults;
    all_.line.expect.wakeups += what.wakeups;
    all_.line.expect.ends += what.ends;
  }
  void operator()(const Bounded& what) {
    std::optional<std::uint32_t>& most = all_.line.most_overtakes;
    most = std::max(most.value_or(0), what.overtakes);
  }

 private:
  template <class Record>
  void begin(std::vector<Record>& all, Stamp stamp) {
    const std::uint32_t op = all_.hold_of(stamp);
    if (op == nobody) return;
    pending_[key(all, op)].push_back(all.size());
    Record& record = all.emplace_back();
    record.op = op;
    record.process = all_.process;
    record.sent = all_.now;
  }
  template <class Record>
  void end(std::vector<Record>& all, Stamp stamp, typename Record::Answer answer,
           TimePoint until = {}) {
    const std::uint32_t op = all_.hold_of(stamp);
    if (op == nobody) return;
    const auto at = pending_.find(key(all, op));
    if (at == pending_.end()) {
      all_.complaint =
          "an answer about stamp=" + std::to_string(stamp.value) + " without a question";
      return;
    }
    // If several calls are under way, any of them may have got the answer. To raise no false alarm,
    // take the first one asked if it took effect, and the last one asked if not.
    const bool done = answer == static_cast<typename Record::Answer>(1);
    const auto which = done ? at->second.begin() : std::prev(at->second.end());
    Record& record = all[*which];
    record.answer = answer;
    record.returned = all_.now;
    if constexpr (requires { record.until; }) record.until = until;
    at->second.erase(which);
    if (at->second.empty()) pending_.erase(at);
  }
  // Renewals and endings of one hold may be under way together.
  static std::uint64_t key(const std::vector<Renewal>&, std::uint32_t op) { return op; }
  static std::uint64_t key(const std::vector<Ending>&, std::uint32_t op) {
    return op | std::uint64_t{1} << 32;
  }

  Gathering& all_;
  // Renewals and endings without an answer yet, by key.
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> pending_;
  std::unordered_map<std::string, std::vector<std::size_t>> open_faults_;
  std::unordered_map<std::uint32_t, std::size_t> open_permits_;
  std::unordered_map<std::string, std::vector<std::size_t>> open_cuts_;
  std::optional<std::size_t> restore_;  // the one under way
  std::optional<std::size_t> demotion_;
  std::optional<Snapshot> snapshot_;
};

// A grant that takes the place of a hold ends it.
void take_conversions(Gathering& all) {
  for (const Op& op : all.line.ops) {
    if (!op.replaces) continue;
    all.process = op.process;
    const std::uint32_t hold = all.hold_of(op.replaces);
    if (hold == nobody) continue;
    const bool gives_up = all.line.items[op.first_item].mode == Mode::read;
    if (all.line.ops[hold].process == op.process) {
      all.line.conversions.all.push_back({hold, {op.asked, op.returned}, gives_up});
    }
    const bool perhaps = op.outcome == Op::Outcome::unknown || op.outcome == Op::Outcome::none;
    if (!op.granted() && !perhaps) continue;
    const auto answer = op.granted() ? Ending::Answer::released : Ending::Answer::unknown;
    all.line.endings.all.push_back(
        {hold, op.process, op.asked, op.returned, answer, perhaps && !gives_up});
    if (op.granted()) {
      all.line.ops[hold].replaced_by = static_cast<std::uint32_t>(&op - all.line.ops.data());
    }
  }
}

}  // namespace

Status take_incidents(const History& history, Gathering& all) {
  if (Status status = walk<Incidents>(history, all); !status) return status;
  take_conversions(all);
  return {};
}

}  // namespace lockset::history
