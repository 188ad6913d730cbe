// I2: the grants, in the order of their stamps, are a possible order of events.
//
// A grant took effect at the latest when it, or a grant with a greater stamp, was known: the
// smallest `known` of all grants that are not below it. If it was asked for after that moment,
// stamps run against time. The check replays the grants at these latest moments, with every hold
// ended as early as possible; each grant has to be admissible. As in I1, no other choice does
// better, so the check passes if and only if there is an order of events with these stamps.
#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "history/timeline.h"

namespace lockset::history {
namespace {

struct Grant {
  std::uint32_t op = 0;
  TimePoint latest;         // when it took effect at the latest
  std::uint32_t bound = 0;  // the grant whose return makes it so early
};

// Grants by stamp, each with its latest moment.
std::vector<Grant> in_order(const Timeline& line, std::vector<std::uint32_t> ops) {
  std::sort(ops.begin(), ops.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(line.ops[a].stamp, a) < std::pair(line.ops[b].stamp, b);
  });
  std::vector<Grant> grants(ops.size());
  for (std::size_t i = ops.size(); i-- > 0;) {
    grants[i] = {ops[i], line.ops[ops[i]].known, ops[i]};
    if (i + 1 < ops.size() && grants[i + 1].latest < grants[i].latest) {
      grants[i].latest = grants[i + 1].latest;
      grants[i].bound = grants[i + 1].bound;
    }
  }
  return grants;
}

void check_time(const Timeline& line, const std::vector<Grant>& grants, Findings& findings) {
  for (const Grant& grant : grants) {
    const Op& op = line.ops[grant.op];
    if (op.asked <= grant.latest) continue;
    findings.add(Invariant::fencing, [&] {
      return "a grant that was asked for after another had returned has the smaller stamp\n  " +
             line.tell(line.ops[grant.bound]) + "\n  " + line.tell(op);
    });
  }
}

void check_unique(const Timeline& line, Findings& findings) {
  for (const Op& op : line.ops) {
    if (!op.granted()) continue;
    if (op.stamp.value <= 0) {
      findings.add(Invariant::fencing, [&] { return "not a stamp\n  " + line.tell(op); });
    }
    if (op.same_stamp == nobody) continue;
    findings.add(Invariant::fencing, [&] {
      return "one stamp was granted twice\n  " + line.tell(line.ops[op.same_stamp]) + "\n  " +
             line.tell(op);
    });
  }
}

// Holds of one mode, the earliest end first.
using Ends = std::priority_queue<std::pair<TimePoint, std::uint32_t>,
                                 std::vector<std::pair<TimePoint, std::uint32_t>>, std::greater<>>;

void replay(const Timeline& line, std::uint32_t name, const std::vector<Grant>& grants,
            const std::vector<std::uint32_t>& items, Findings& findings) {
  Ends readers;
  Ends writers;
  // Those whose place another grant takes: they end with it, whenever that is.
  std::vector<std::uint32_t> to_be_replaced;
  const auto replaced = [&](bool reads) {
    return static_cast<std::size_t>(std::count_if(
        to_be_replaced.begin(), to_be_replaced.end(),
        [&](std::uint32_t i) { return (line.items[items[i]].mode == Mode::read) == reads; }));
  };
  for (std::size_t i = 0; i < grants.size(); ++i) {
    const Grant& grant = grants[i];
    std::erase_if(to_be_replaced, [&](std::uint32_t other) {
      return line.ops[grants[other].op].replaced_by == grant.op;
    });
    for (Ends* ends : {&readers, &writers}) {
      while (!ends->empty() && ends->top().first <= grant.latest) ends->pop();
    }
    const Item& item = line.items[items[i]];
    Ends& same = item.mode == Mode::read ? readers : writers;
    Ends& other = item.mode == Mode::read ? writers : readers;
    // check_time has reported the grants that run against time.
    if (line.ops[grant.op].asked > grant.latest) continue;
    const bool reads = item.mode == Mode::read;
    const bool meets = !other.empty() || replaced(!reads) > 0;
    if (meets || same.size() + replaced(reads) + 1 > item.permits) {
      findings.add(Invariant::fencing, [&] {
        Ends in_the_way = other.empty() ? same : other;
        std::string text = "name " + in_quotes(line.names[name]) +
                           ": in the order of the stamps this grant is not admissible at " +
                           line.at(grant.latest) + " or before (" +
                           std::string(to_string(item.mode)) +
                           " permits: " + std::to_string(item.permits) + "); in its way:\n  " +
                           line.tell(line.ops[grant.op]);
        for (; !in_the_way.empty(); in_the_way.pop()) {
          text += "\n  " + line.tell(line.ops[in_the_way.top().second]);
        }
        for (const std::uint32_t each : to_be_replaced) {
          text += "\n  " + line.tell(line.ops[grants[each].op]);
        }
        return text;
      });
    }
    const Op& op = line.ops[grant.op];
    if (op.replaced_by != nobody && line.ops[op.replaced_by].stamp > op.stamp) {
      to_be_replaced.push_back(static_cast<std::uint32_t>(i));
    } else if (op.must_end > grant.latest) {
      same.emplace(op.must_end, grant.op);
    }
  }
}

}  // namespace

void check_fencing(const Timeline& line, const Rules& rules, Findings& findings) {
  check_unique(line, findings);
  const bool global = rules.stamps == Rules::StampOrder::global;
  std::vector<Grant> of_space;
  std::vector<std::uint32_t> rank(line.ops.size(), 0);  // of a grant in of_space
  if (global) {
    std::vector<std::uint32_t> granted;
    for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
      if (line.ops[i].granted()) granted.push_back(i);
    }
    of_space = in_order(line, std::move(granted));
    check_time(line, of_space, findings);
    for (std::uint32_t i = 0; i < of_space.size(); ++i) rank[of_space[i].op] = i;
  }

  std::vector<std::uint32_t> item_of(line.ops.size(), 0);  // for the current name
  for (std::uint32_t name = 0; name < line.names.size(); ++name) {
    std::vector<std::uint32_t> granted;
    for (const ItemRef& ref : line.asks_of[name]) {
      if (!line.ops[ref.op].granted()) continue;
      granted.push_back(ref.op);
      item_of[ref.op] = ref.item;
    }
    std::vector<Grant> grants = in_order(line, std::move(granted));
    if (global) {
      for (Grant& grant : grants) grant = of_space[rank[grant.op]];
    } else {
      check_time(line, grants, findings);
    }
    std::vector<std::uint32_t> items;
    items.reserve(grants.size());
    for (const Grant& grant : grants) items.push_back(item_of[grant.op]);
    if (rules.leases_last) replay(line, name, grants, items, findings);
  }
}

}  // namespace lockset::history
