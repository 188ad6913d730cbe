#include "history/timeline.h"

#include <algorithm>
#include <utility>

#include "history/gather.h"

namespace lockset::history {

std::uint32_t Gathering::name_of(const std::string& name) {
  const auto [at, fresh] = names.emplace(name, line.names.size());
  if (fresh) {
    line.names.push_back(name);
    line.asks_of.emplace_back();
  }
  return at->second;
}

std::uint32_t Gathering::process_of(const std::string& name) const {
  const auto at = processes.find(name);
  return at == processes.end() ? nobody : at->second;
}

std::uint32_t Gathering::hold_of(Stamp stamp) const {
  const auto at = holds.find(stamp);
  if (at == holds.end()) return nobody;
  for (std::uint32_t i = at->second; i != nobody; i = line.ops[i].same_stamp) {
    if (line.ops[i].process == process) return i;
  }
  return at->second;
}

namespace {

Status name_processes(const History& history, Gathering& all) {
  for (const Log& log : history) {
    if (says_nothing(log)) continue;
    if (!all.processes.emplace(log.process, all.processes.size()).second) {
      return Error{Errc::invalid, "two logs of the process " + in_quotes(log.process)};
    }
    all.line.processes.emplace_back().name = log.process;
  }
  return {};
}

void note_times(const History& history, Timeline& line) {
  bool any = false;
  std::size_t process = 0;
  for (const Log& log : history) {
    if (says_nothing(log)) continue;
    TimePoint& last = line.processes[process++].last;
    for (const Event& event : log.events) {
      if (!any) line.first = line.last = event.time;
      any = true;
      line.first = std::min(line.first, event.time);
      last = std::max(last, event.time);
    }
    line.last = std::max(line.last, last);
  }
}

// Makes one of those that meet.
void merge(std::vector<Interval>& cuts) {
  std::vector<Interval> merged;
  for (const Interval& each : cuts) {
    if (merged.empty() || merged.back().end < each.begin) {
      merged.push_back(each);
    } else {
      merged.back().end = std::max(merged.back().end, each.end);
    }
  }
  cuts = std::move(merged);
}

void sort(Timeline& line) {
  const auto by = [](auto&& key) {
    return [key](const auto& a, const auto& b) { return key(a) < key(b); };
  };
  const auto arrange = [&](auto& group, auto&& time) {
    std::stable_sort(group.all.begin(), group.all.end(),
                     by([&](const auto& each) { return std::pair(each.op, time(each)); }));
    group.index(line.ops.size());
  };
  arrange(line.renewals, [](const Renewal& each) { return each.sent; });
  arrange(line.endings, [](const Ending& each) { return each.sent; });
  arrange(line.conversions, [](const Conversion& each) { return each.call.begin; });
  arrange(line.samples, [](const Sample& each) { return each.asked; });
  arrange(line.losses, [](const Loss& each) { return each.at; });
  std::stable_sort(line.uses.begin(), line.uses.end(),
                   by([](const ResourceUse& each) { return std::pair(each.name, each.at); }));
  std::stable_sort(line.permits.begin(), line.permits.end(), by([](const PermitsChange& each) {
                     return std::pair(each.name, each.during.begin);
                   }));
  std::stable_sort(line.faults.begin(), line.faults.end(),
                   by([](const Interval& each) { return each.begin; }));
  std::stable_sort(line.cuts.begin(), line.cuts.end(),
                   by([](const Interval& each) { return each.begin; }));
  merge(line.cuts);
  std::stable_sort(line.restores.begin(), line.restores.end(),
                   by([](const Restore& each) { return each.during.begin; }));
  std::stable_sort(line.snapshots.begin(), line.snapshots.end(),
                   by([](const Snapshot& each) { return each.taken.begin; }));
  for (Process& process : line.processes) {
    std::sort(process.stops.begin(), process.stops.end(),
              by([](const Interval& each) { return each.begin; }));
  }
}

}  // namespace

// Only renewals that came before the end prolong a hold: once it is over, it stays over. They are
// sorted by the time when they were sent; an answer to a later one may come first and so let an
// earlier one be in time.
TimePoint Timeline::valid_end(const Op& op, std::size_t index, TimePoint known) const {
  TimePoint end = op.until;
  for (bool longer = true; longer;) {
    longer = false;
    for (const Renewal& each : renewals.of(index)) {
      if (each.process != op.process || each.answer != Renewal::Answer::renewed) continue;
      if (each.returned > std::min(end, known) || each.until <= end) continue;
      end = each.until;
      longer = true;
    }
  }
  return end;
}

Result<Timeline> make_timeline(const History& history, const Rules& rules) {
  Gathering all;
  if (Status status = name_processes(history, all); !status) return status.error();
  if (Status status = take_acquires(history, all); !status) return status.error();
  if (Status status = take_incidents(history, all); !status) return status.error();
  note_times(history, all.line);
  sort(all.line);
  work_out(all.line, rules);
  return std::move(all.line);
}

}  // namespace lockset::history
