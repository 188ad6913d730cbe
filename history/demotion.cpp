// I1, I10: a server that was demoted grants and renews nothing, and answers no observation. Another
// server may have been promoted in its place, with the same holds. It does not see what the old one
// does, and the old one does not see what it grants.
#include <algorithm>

#include "history/timeline.h"

namespace lockset::history {

void check_demotion(const Timeline& line, const Rules&, Findings& findings) {
  const auto demoted = [&](TimePoint asked, TimePoint answered) {
    return std::any_of(line.demotions.begin(), line.demotions.end(), [&](const Interval& each) {
      return asked >= each.begin && answered <= each.end;
    });
  };
  for (const Op& op : line.ops) {
    if (!op.granted() || !demoted(op.asked, op.returned)) continue;
    findings.add(Invariant::exclusion,
                 [&] { return "granted by a server that was demoted\n  " + line.tell(op); });
  }
  for (const Renewal& each : line.renewals.all) {
    if (each.answer != Renewal::Answer::renewed || !demoted(each.sent, each.returned)) continue;
    findings.add(Invariant::exclusion, [&] {
      return "renewed by a server that was demoted, asked at " + line.at(each.sent) + "\n  " +
             line.tell(line.ops[each.op]);
    });
  }
  const std::string rule = "observed in a server that was demoted\n  ";
  for (const Observation& each : line.observations) {
    if (!each.answered || !demoted(each.asked, each.returned)) continue;
    findings.add(Invariant::observing, [&] { return rule + line.tell(each); });
  }
  for (const Validation& each : line.validations) {
    if (each.answer != Validation::Answer::unchanged || !demoted(each.asked, each.returned))
      continue;
    findings.add(Invariant::observing, [&] { return rule + line.tell(each); });
  }
}

}  // namespace lockset::history
