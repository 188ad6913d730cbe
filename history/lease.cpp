// I5: validity is honest. valid() is never true after the promised end, nor after it was false,
// lost or released; a holder learns of a loss in time; a hold that has ended is never renewed, and
// ends once.
#include <algorithm>

#include "core/time_math.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

class LeaseCheck {
 public:
  LeaseCheck(const Timeline& line, const Rules& rules, Findings& findings, std::size_t index)
      : line_(line), rules_(rules), findings_(findings), op_(line.ops[index]), index_(index) {}

  void run() {
    check_samples();
    check_renewals();
    check_endings();
    if (rules_.records_lost) check_told();
  }

 private:
  void complain(const std::string& rule) {
    findings_.add(Invariant::lease, [&] { return rule + "\n  " + line_.tell(op_); });
  }

  // The end that was promised by then. An answer that comes after that end prolongs nothing.
  TimePoint promised_at(TimePoint time) const { return line_.valid_end(op_, index_, time); }

  void check_samples() {
    TimePoint over = TimePoint::max();  // from when on it is certainly known to be over
    const char* why = "";
    const auto note = [&](TimePoint time, const char* how) {
      if (time < over) {
        over = time;
        why = how;
      }
    };
    for (const Loss& each : line_.losses.of(index_)) note(each.at, "it was lost");
    for (const Ending& each : line_.endings.of(index_)) {
      const bool over = each.process == op_.process && !each.relied_on;
      if (over) note(each.returned, "it was released");
    }
    for (const Sample& each : line_.samples.of(index_)) {
      const bool over = !each.answer && !line_.interrupted(each);
      if (over) note(each.answered, "valid() had been false");
    }
    for (const Sample& each : line_.samples.of(index_)) {
      if (!each.answer) continue;
      const std::string when = "valid() was true, asked at " + line_.at(each.asked);
      if (const TimePoint until = promised_at(each.answered); each.asked > until) {
        complain(when + ", promised only until " + line_.at(until));
      } else if (each.asked > over) {
        complain(when + ", though " + why + " at " + line_.at(over));
      }
    }
  }

  void check_renewals() {
    // From when on it is gone from the store. (A holder that gave up may still have a renewal on
    // its way; check_samples checks that it does not rely on it.)
    TimePoint gone = TimePoint::max();
    TimePoint gone_at_least = gone;  // it may have ended that early
    const auto note = [&](const auto& each) {
      if (each.returned >= gone) return;
      gone = each.returned;
      gone_at_least = each.sent;
    };
    for (const Renewal& each : line_.renewals.of(index_)) {
      if (each.answer == Renewal::Answer::gone && each.process == op_.process) note(each);
    }
    for (const Ending& each : line_.endings.of(index_)) {
      if (each.answer == Ending::Answer::released) note(each);
    }

    const auto lasts = [&](TimePoint arrived, TimePoint until) {
      if (until == TimePoint::max()) return until;
      return expiry(rules_, op_.lease, arrived);
    };
    TimePoint expires = lasts(op_.returned, op_.until);
    for (const Renewal& each : line_.renewals.of(index_)) {
      const bool renewed = each.answer == Renewal::Answer::renewed;
      const auto returned_since = [&](TimePoint ended) {
        return line_.may_have_returned(op_, ended, each.returned);
      };
      if (renewed && each.sent > gone && !returned_since(gone_at_least)) {
        complain("renewed, asked at " + line_.at(each.sent) + ", though it had ended at " +
                 line_.at(gone));
      } else if (renewed && each.sent > expires && !returned_since(expires)) {
        complain("renewed, asked at " + line_.at(each.sent) + ", though its lease had ended by " +
                 line_.at(expires));
      }
      const bool answered = renewed || each.answer == Renewal::Answer::gone;
      const TimePoint arrived = answered ? each.returned : later(each.sent, rules_.late);
      if (each.answer != Renewal::Answer::gone) {
        expires = std::max(expires, lasts(arrived, renewed ? each.until : TimePoint{}));
      }
    }
  }

  // A caller whose reply was lost asks again. If the hold is gone by then, that counts as its own
  // success (semantics 9), and somebody else may have had the same success at the same time.
  bool may_claim(const Ending& mine, const Ending& other) const {
    return mine.process == op_.process && mine.sent <= other.returned &&
           other.sent <= mine.returned &&
           line_.had_trouble(mine.process, {mine.sent, mine.returned});
  }
  void check_endings() {
    std::vector<Ending> done;
    for (const Ending& each : line_.endings.of(index_)) {
      if (each.answer == Ending::Answer::released) done.push_back(each);
    }
    // A hold that came back ends once more.
    for (std::size_t i = 0; i + 1 < done.size();) {
      const bool returned = line_.may_have_returned(op_, done[i].sent, done[i + 1].returned);
      i = returned ? (done.erase(done.begin() + static_cast<std::ptrdiff_t>(i)), i) : i + 1;
    }
    const bool explained =
        done.size() == 2 && (may_claim(done[0], done[1]) || may_claim(done[1], done[0]));
    if (done.size() > 1 && !explained) {
      complain("released " + std::to_string(done.size()) + " times");
    }
  }

  // A hold that the store no longer has may have ended for the one that takes its place: that is
  // known when the call has returned.
  TimePoint known_after(TimePoint denied) const {
    TimePoint known = denied;
    for (const Conversion& each : line_.conversions.of(index_)) {
      if (each.call.begin <= denied && denied <= each.call.end) {
        known = std::max(known, each.call.end);
      }
    }
    return known;
  }

  // lost() comes when validity ends, unless the hold was released or its process died before.
  void check_told() {
    TimePoint loss = op_.valid_end;
    for (const Renewal& each : line_.renewals.of(index_)) {
      if (each.answer == Renewal::Answer::gone && each.process == op_.process) {
        loss = std::min(loss, known_after(each.returned));
      }
    }
    if (loss == TimePoint::max()) return;
    const TimePoint deadline =
        line_.put_off(op_.process, std::max(loss, op_.returned), rules_.lost_delay);
    const Process& process = line_.processes[op_.process];
    if (process.last < deadline || (process.killed && *process.killed < deadline)) return;
    for (const Ending& each : line_.endings.of(index_)) {
      if (each.process == op_.process && !each.relied_on && each.sent <= deadline) return;
    }
    for (const Loss& each : line_.losses.of(index_)) {
      if (each.at <= deadline) return;
    }
    complain("its holder was not told by " + line_.at(deadline) + " that it ended at " +
             line_.at(loss));
  }

  const Timeline& line_;
  const Rules& rules_;
  Findings& findings_;
  const Op& op_;
  std::size_t index_;
};

}  // namespace

void check_lease(const Timeline& line, const Rules& rules, Findings& findings) {
  for (std::size_t i = 0; i < line.ops.size(); ++i) {
    if (line.ops[i].granted()) LeaseCheck(line, rules, findings, i).run();
  }
}

}  // namespace lockset::history
