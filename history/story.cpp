// How the timeline describes events for people.
#include <algorithm>
#include <cstdio>

#include "core/time_math.h"
#include "history/timeline.h"

namespace lockset::history {

std::string_view to_string(Invariant invariant) noexcept {
  constexpr std::string_view names[invariant_count] = {
      "I1 exclusion", "I2 fencing order", "I3 atomic sets", "I4 busy justified", "I5 lease honesty",
      "I6 resource",  "I7 liveness",      "I8 no leaks",    "I9 permits",        "I10 observing"};
  return names[static_cast<std::size_t>(invariant)];
}

TimePoint Timeline::last_trouble() const {
  TimePoint end = first;
  for (const Interval& fault : faults) end = std::max(end, fault.end);
  for (const Restore& restore : restores) end = std::max(end, restore.during.end);
  for (const Process& process : processes) {
    if (process.killed) end = std::max(end, *process.killed);
    for (const Interval& stop : process.stops) {
      // A process that was killed while stopped causes no more trouble.
      end = std::max(end, process.killed ? std::min(stop.end, *process.killed) : stop.end);
    }
  }
  return end;
}

bool Timeline::had_trouble(std::uint32_t process, Interval during) const {
  const auto meets = [&](const Interval& each) {
    return each.begin <= during.end && each.end >= during.begin;
  };
  const std::vector<Interval>& of_it = processes[process].stops;
  return std::any_of(faults.begin(), faults.end(), meets) ||
         std::any_of(restores.begin(), restores.end(),
                     [&](const Restore& each) { return meets(each.during); }) ||
         std::any_of(of_it.begin(), of_it.end(), meets);
}

bool Timeline::may_be_there(std::uint32_t op, Interval during) const {
  const auto meets = [&](TimePoint begin, TimePoint end) {
    return begin <= during.end && end >= during.begin;
  };
  if (meets(ops[op].asked, ops[op].may_end)) return true;
  const std::span<const Return> again = returns.of(op);
  return std::any_of(again.begin(), again.end(),
                     [&](const Return& each) { return meets(each.during.begin, each.during.end); });
}

bool Timeline::may_have_returned(const Op& op, TimePoint ended, TimePoint seen) const {
  return std::any_of(restores.begin(), restores.end(), [&](const Restore& each) {
    return each.backup && each.concerns(op.asked) && each.during.begin <= seen &&
           each.during.end >= ended;
  });
}

TimePoint Timeline::put_off(std::uint32_t process, TimePoint from, Duration delay) const {
  TimePoint deadline = later(from, delay);
  for (const Interval& stop : processes[process].stops) {
    if (stop.begin <= deadline && stop.end >= from) {
      deadline = std::max(deadline, later(stop.end, delay));
    }
  }
  return deadline;
}

std::string Timeline::at(TimePoint time) const {
  if (time == TimePoint::max()) return "the end";
  char text[40];
  const std::chrono::duration<double, std::milli> since = time - first;
  std::snprintf(text, sizeof text, "%.6f ms", since.count());
  // Down to nanoseconds, but without superfluous zeros.
  std::string result(text);
  const std::size_t blank = result.find(' ');
  const std::size_t point = result.find('.');
  std::size_t end = result.find_last_not_of('0', blank - 1);
  if (end == point) --end;
  return result.erase(end + 1, blank - end - 1);
}

std::string Timeline::tell(const Op& op) const {
  std::string text;
  constexpr std::size_t most = 4;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(op.items, most); ++i) {
    const Item& item = items[op.first_item + i];
    text +=
        (i > 0 ? ", " : "") + std::string(to_string(item.mode)) + " " + in_quotes(names[item.name]);
  }
  if (op.items > most) text += " and " + std::to_string(op.items - most) + " more";
  text += ": op " + std::to_string(op.id) + " of " + processes[op.process].name + ", asked at " +
          at(op.asked);
  switch (op.outcome) {
    case Op::Outcome::none:
      return text + ", never answered";
    case Op::Outcome::granted:
      break;
    case Op::Outcome::busy:
      return text + ", told busy at " + at(op.returned);
    case Op::Outcome::timeout:
      return text + ", timed out at " + at(op.returned);
    case Op::Outcome::unknown:
      return text + ", outcome unknown at " + at(op.returned);
    case Op::Outcome::refused:
      return text + ", refused at " + at(op.returned);
    case Op::Outcome::changed:
      return text + ", told changed at " + at(op.returned);
  }
  if (op.condition != nobody) {
    text += ", on the condition of op " + std::to_string(observations[op.condition].id);
  }
  if (op.replaces) text += ", in place of " + std::to_string(op.replaces.value);
  text += ", granted stamp " + std::to_string(op.stamp.value) + " at " + at(op.returned);
  return text + ", certainly held until " + at(op.must_end) + ", perhaps until " + at(op.may_end);
}

std::string Timeline::tell(const Observation& observation) const {
  std::string text = "op " + std::to_string(observation.id) + " of " +
                     processes[observation.process].name + ", asked at " + at(observation.asked);
  if (!observation.answered) return text + ", saw nothing";
  text += ", saw at " + at(observation.returned) + ":";
  for (const SeenItem& item : observation.items) {
    text += " " + in_quotes(names[item.name]) + " " + std::to_string(item.last_write.value) +
            (item.being_written ? " being written" : "");
  }
  return text;
}

std::string Timeline::tell(const Validation& validation) const {
  std::string text = "op " + std::to_string(validation.id) + " of " +
                     processes[validation.process].name + ", a validation of op " +
                     std::to_string(observations[validation.observation].id) + ", asked at " +
                     at(validation.asked);
  switch (validation.answer) {
    case Validation::Answer::none:
      return text + ", never answered";
    case Validation::Answer::unchanged:
      return text + ", told unchanged at " + at(validation.returned);
    case Validation::Answer::changed:
      return text + ", told changed at " + at(validation.returned);
    case Validation::Answer::failed:
      return text + ", failed at " + at(validation.returned);
  }
  return text;
}

}  // namespace lockset::history
