// When each hold was certainly there, and when perhaps.
#include <algorithm>

#include "core/time_math.h"
#include "history/permits_book.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

void work_out_permits(Timeline& line, const Rules& rules) {
  const PermitsBook book(line);
  for (const Op& op : line.ops) {
    for (std::uint32_t i = op.first_item; i < op.first_item + op.items; ++i) {
      Item& item = line.items[i];
      if (item.said) continue;
      const auto possible = book.during(item.name, item.mode, {op.asked, op.returned});
      if (possible.anything) {
        item.permits = item.mode == Mode::read ? rules.read_permits : rules.write_permits;
      }
      for (const std::uint32_t value : possible.values) {
        item.permits = std::max(item.permits, value);
      }
    }
  }
}

// When the hold may have ended with its connection at the earliest. A renewal goes over the same
// connection: if it was done, the hold was still there when it was sent.
TimePoint cut_off(const Timeline& line, const Op& op, std::size_t index) {
  TimePoint there = op.asked;
  for (const Renewal& each : line.renewals.of(index)) {
    const bool done = each.process == op.process && each.answer == Renewal::Answer::renewed;
    if (done) there = std::max(there, each.sent);
  }
  const auto cut =
      std::lower_bound(line.cuts.begin(), line.cuts.end(), there,
                       [](const Interval& each, TimePoint time) { return each.end < time; });
  return cut == line.cuts.end() ? TimePoint::max() : std::max(cut->begin, there);
}

TimePoint must_end(const Timeline& line, const Op& op, std::size_t index) {
  TimePoint end = op.valid_end;
  for (const Ending& each : line.endings.of(index)) {
    const bool did_nothing = each.process != op.process && each.answer == Ending::Answer::not_held;
    if (!did_nothing) end = std::min(end, each.sent);
  }
  for (const Renewal& each : line.renewals.of(index)) {
    if (each.process == op.process && each.answer == Renewal::Answer::gone) {
      end = std::min(end, each.returned);
    }
  }
  for (const Loss& each : line.losses.of(index)) end = std::min(end, each.at);
  // Its holder knows that it is over, and may have released the hold that it depends on: the one on
  // its application. (An answer to a renewal that came in time may be read too late.)
  for (const Sample& each : line.samples.of(index)) {
    if (!each.answer && !line.interrupted(each)) end = std::min(end, each.answered);
  }
  if (const auto& killed = line.processes[op.process].killed) end = std::min(end, *killed);
  for (const Restore& each : line.restores) {
    if (each.forgets && each.concerns(op.asked)) end = std::min(end, each.during.begin);
  }
  return end;
}

TimePoint may_end_alive(const Timeline& line, const Rules& rules, const Op& op, std::size_t index) {
  const auto expiry = [&](TimePoint arrived) { return history::expiry(rules, op.lease, arrived); };
  if (!op.granted()) {
    // A request that never returned may have been on its way until its process died.
    TimePoint gave_up = op.returned;
    const auto& killed = line.processes[op.process].killed;
    if (op.outcome == Op::Outcome::none && killed) gave_up = *killed;
    return expiry(later(gave_up, rules.late));
  }
  TimePoint end = expiry(op.returned);
  if (op.until == TimePoint::max()) end = TimePoint::max();
  for (const Renewal& each : line.renewals.of(index)) {
    switch (each.answer) {
      case Renewal::Answer::renewed:
        end = std::max(end, each.until == TimePoint::max() ? each.until : expiry(each.returned));
        break;
      case Renewal::Answer::none:
      case Renewal::Answer::unknown:
        end = std::max(end, expiry(later(each.sent, rules.late)));
        break;
      case Renewal::Answer::gone:
        break;
    }
  }
  // A hold is gone once the store said so.
  for (const Renewal& each : line.renewals.of(index)) {
    if (rules.denials_end && each.process == op.process && each.answer == Renewal::Answer::gone) {
      end = std::min(end, each.returned);
    }
  }
  for (const Ending& each : line.endings.of(index)) {
    const bool gone = each.answer == Ending::Answer::released ||
                      (rules.denials_end && each.process == op.process &&
                       each.answer == Ending::Answer::not_held);
    if (gone) end = std::min(end, each.returned);
  }
  return end;
}

TimePoint may_end(const Timeline& line, const Rules& rules, const Op& op, std::size_t index) {
  const TimePoint end = may_end_alive(line, rules, op, index);
  const auto& killed = line.processes[op.process].killed;
  return killed ? std::min(end, later(*killed, rules.freed_after_kill)) : end;
}

// A hold that was perhaps in the store when a backup was taken may be there again when the backup
// is put back, with the lease that it had then, or a new one. Its holder does not know that, and
// renews it.
void work_out_returns(Timeline& line, const Rules& rules) {
  std::vector<Return> all;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (!op.may_hold()) continue;
    const std::size_t first = all.size();
    for (const Restore& restore : line.restores) {
      if (!restore.backup || !restore.concerns(op.asked)) continue;
      const auto in_backup = [&](TimePoint begin, TimePoint end) {
        return begin <= restore.backup->end && end >= restore.backup->begin;
      };
      bool there = in_backup(op.asked, op.may_end);
      for (std::size_t k = first; k < all.size(); ++k) {
        there = there || in_backup(all[k].during.begin, all[k].during.end);
      }
      if (!there) continue;
      const auto lasts = [&](TimePoint from) { return expiry(rules, op.lease, from); };
      TimePoint end = op.until == TimePoint::max() ? op.until : lasts(restore.during.end);
      for (const Renewal& each : line.renewals.of(i)) {
        if (each.answer == Renewal::Answer::gone) continue;
        // A renewal without an answer may be applied after its client stopped waiting for it.
        const bool done = each.answer == Renewal::Answer::renewed;
        const TimePoint arrived = done ? each.returned : later(each.sent, rules.late);
        if (arrived >= restore.during.begin) end = std::max(end, lasts(arrived));
      }
      // may_end covers the time before that.
      const TimePoint begin = std::max(restore.during.begin, later(op.may_end, Duration(1)));
      if (begin < end) all.push_back({i, {begin, end}});
    }
  }
  line.returns.all = std::move(all);
  line.returns.index(line.ops.size());
}

}  // namespace

TimePoint expiry(const Rules& rules, Duration lease, TimePoint arrived) {
  TimePoint end = later(later(arrived, lease), rules.slack);
  for (int i = 0; i < rules.slack_per_lease; ++i) end = later(end, lease);
  return end;
}

void work_out(Timeline& line, const Rules& rules) {
  work_out_permits(line, rules);
  work_out_known(line);
  for (std::size_t i = 0; i < line.ops.size(); ++i) {
    Op& op = line.ops[i];
    if (op.granted()) {
      op.valid_end = line.valid_end(op, i, TimePoint::max());
      op.must_end = must_end(line, op, i);
      const TimePoint cut = cut_off(line, op, i);
      op.cut_off = cut < op.must_end;
      op.must_end = std::min(op.must_end, cut);
      // If it had ended before, or perhaps had, that grant says nothing of it.
      const bool there = op.replaced_by != nobody && op.must_end == line.ops[op.replaced_by].asked;
      if (!there) op.replaced_by = nobody;
    }
    if (op.may_hold()) op.may_end = may_end(line, rules, op, i);
  }
  work_out_returns(line, rules);
}

}  // namespace lockset::history
