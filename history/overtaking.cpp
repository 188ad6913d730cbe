// I7: a waiter is not overtaken more often than the run says. Another acquire overtook it if it was
// certainly asked for later, was granted first, and could not be there together with it.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "core/time_math.h"
#include "history/timeline.h"

namespace lockset::history {
namespace {

// The grants of a name, by the time at which they were asked for.
std::vector<std::vector<ItemRef>> grants_by_name(const Timeline& line) {
  std::vector<std::vector<ItemRef>> grants(line.names.size());
  for (std::uint32_t name = 0; name < line.names.size(); ++name) {
    for (const ItemRef& ref : line.asks_of[name]) {
      if (line.ops[ref.op].granted()) grants[name].push_back(ref);
    }
    std::sort(grants[name].begin(), grants[name].end(), [&](const ItemRef& a, const ItemRef& b) {
      return line.ops[a.op].asked < line.ops[b.op].asked;
    });
  }
  return grants;
}

bool conflict(const Item& one, const Item& other) {
  return one.mode != other.mode || std::max(one.permits, other.permits) < 2;
}

class Overtaking {
 public:
  Overtaking(const Timeline& line, const Rules& rules)
      : line_(line), rules_(rules), grants_(grants_by_name(line)) {}

  // How many grants came before that of `waiter`; does not count beyond `most`. Looks at what was
  // asked for while it waited: little, if the bound is kept.
  [[nodiscard]] std::size_t of(const Op& waiter, std::size_t most) const {
    std::unordered_set<std::uint32_t> first;  // once, however many names they share
    const TimePoint since = later(waiter.asked, rules_.in_line);
    for (const Item& item : line_.set_of(waiter)) {
      const std::vector<ItemRef>& grants = grants_[item.name];
      for (auto at = std::upper_bound(
               grants.begin(), grants.end(), since,
               [&](TimePoint time, const ItemRef&ref) { return time < line_.ops[ref.op].asked; });
           at != grants.end() && line_.ops[at->op].asked < waiter.returned; ++at) {
        // In the order of the stamps the store granted them.
        if (line_.ops[at->op].stamp >= waiter.stamp) continue;
        if (!conflict(item, line_.items[at->item])) continue;
        // A downgrade gives up, and overtakes nobody.
        const bool gives_up =
            line_.ops[at->op].replaces && line_.items[at->item].mode == Mode::read;
        if (gives_up) continue;
        first.insert(at->op);
        if (first.size() >= most) return most;
      }
    }
    return first.size();
  }

 private:
  const Timeline& line_;
  const Rules& rules_;
  const std::vector<std::vector<ItemRef>> grants_;
};

}  // namespace

void check_overtaking(const Timeline& line, const Rules& rules, Findings& findings,
                      Counts& counts) {
  if (!line.most_overtakes || line.had_trouble()) return;
  const std::size_t most = *line.most_overtakes;
  const Overtaking overtaking(line, rules);
  std::vector<std::uint32_t> too_often;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    const Op& op = line.ops[i];
    if (!op.granted() || op.wait == Duration::zero()) continue;
    ++counts.waits;
    if (overtaking.of(op, most + 1) > most) too_often.push_back(i);
  }
  counts.overtaken = too_often.size();
  if (static_cast<double>(too_often.size()) <=
      rules.overtaken * static_cast<double>(counts.waits)) {
    return;
  }
  for (const std::uint32_t i : too_often) {
    findings.add(Invariant::liveness, [&] {
      return "was overtaken " + std::to_string(overtaking.of(line.ops[i], line.ops.size())) +
             " times, where at most " + std::to_string(most) + " are promised\n  " +
             line.tell(line.ops[i]);
    });
  }
}

}  // namespace lockset::history
