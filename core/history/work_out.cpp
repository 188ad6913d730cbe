// When each hold surely was, and perhaps was.
#include <algorithm>

#include "core/history/permits_book.h"
#include "core/history/timeline.h"
#include "core/time_math.h"

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
  for (const Interval& each : line.restores) {
    if (each.end >= op.asked) end = std::min(end, each.begin);
  }
  if (const auto& killed = line.processes[op.process].killed) end = std::min(end, *killed);
  return end;
}

// Of a hold that was there before a restore: from when to when it surely is there again, by what
// the store that was restored confirmed. Empty if it confirmed nothing.
Interval confirmed(const Timeline& line, const Rules& rules, const Op& op, std::size_t index,
                   TimePoint restored) {
  Interval sure{TimePoint::max(), {}};
  for (const Renewal& each : line.renewals.of(index)) {
    if (each.process != op.process || each.sent <= restored) continue;
    if (each.answer != Renewal::Answer::renewed) continue;
    if (sure.begin == TimePoint::max()) sure = {each.returned, each.until};
    if (each.returned <= sure.end) sure.end = std::max(sure.end, each.until);
  }
  const auto gone = [&](TimePoint at) { sure.end = std::min(sure.end, at); };
  for (const Ending& each : line.endings.of(index)) {
    const bool did_nothing = each.process != op.process && each.answer == Ending::Answer::not_held;
    if (!did_nothing && each.returned > restored) gone(each.sent);
    // The same request may come once more.
    if (each.sent <= restored && later(each.sent, rules.late) > restored) return {};
  }
  for (const Renewal& each : line.renewals.of(index)) {
    if (each.process == op.process && each.answer == Renewal::Answer::gone) gone(each.returned);
  }
  for (const Loss& each : line.losses.of(index)) gone(each.at);
  if (const auto& killed = line.processes[op.process].killed) gone(*killed);
  return sure;
}

TimePoint may_end(const Timeline& line, const Rules& rules, const Op& op, std::size_t index) {
  const auto expiry = [&](TimePoint arrived) {
    return later(arrived, op.lease > Duration::max() - rules.slack ? Duration::max()
                                                                   : op.lease + rules.slack);
  };
  const Interval* const restore = line.last_restore(op);
  const auto or_back = [&](TimePoint end) {
    return restore == nullptr ? end : std::max(end, expiry(restore->end));
  };
  if (!op.granted()) {
    // One that never returned may have been on its way until its process died.
    TimePoint gave_up = op.returned;
    const auto& killed = line.processes[op.process].killed;
    if (op.outcome == Op::Outcome::none && killed) gave_up = *killed;
    return or_back(expiry(later(gave_up, rules.late)));
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
  // What the store said is gone, is gone, unless a restore may have brought it back.
  end = or_back(end);
  const auto stays = [&](TimePoint sent) { return restore == nullptr || sent > restore->end; };
  for (const Renewal& each : line.renewals.of(index)) {
    if (!stays(each.sent)) continue;
    if (rules.denials_end && each.process == op.process && each.answer == Renewal::Answer::gone) {
      end = std::min(end, each.returned);
    }
  }
  for (const Ending& each : line.endings.of(index)) {
    if (!stays(each.sent)) continue;
    const bool gone = each.answer == Ending::Answer::released ||
                      (rules.denials_end && each.process == op.process &&
                       each.answer == Ending::Answer::not_held);
    if (gone) end = std::min(end, each.returned);
  }
  return end;
}

}  // namespace

void work_out(Timeline& line, const Rules& rules) {
  work_out_permits(line, rules);
  for (std::size_t i = 0; i < line.ops.size(); ++i) {
    Op& op = line.ops[i];
    if (op.granted()) {
      op.valid_end = line.valid_end(op, i, TimePoint::max());
      op.must_end = must_end(line, op, i);
      if (const Interval* restore = line.last_restore(op)) {
        const Interval sure = confirmed(line, rules, op, i, restore->end);
        if (sure.begin < sure.end) {
          line.confirmed.push_back({static_cast<std::uint32_t>(i), sure});
        }
      }
    }
    if (op.may_hold()) op.may_end = may_end(line, rules, op, i);
  }
}

}  // namespace lockset::history
