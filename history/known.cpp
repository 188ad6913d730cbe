// By when each grant was known.
#include <algorithm>
#include <utility>
#include <vector>

#include "history/timeline.h"

namespace lockset::history {

void work_out_known(Timeline& line) {
  std::vector<std::pair<Stamp, std::uint32_t>> granted;
  for (std::uint32_t i = 0; i < line.ops.size(); ++i) {
    Op& op = line.ops[i];
    if (!op.granted()) continue;
    op.known = op.returned;
    granted.emplace_back(op.stamp, i);
  }
  std::sort(granted.begin(), granted.end());

  for (const Observation& each : line.observations) {
    for (const SeenItem& seen : each.items) {
      const auto at = std::lower_bound(granted.begin(), granted.end(),
                                       std::pair(seen.last_write, std::uint32_t{0}));
      if (at == granted.end() || at->first != seen.last_write) continue;
      Op& op = line.ops[at->second];
      const auto set = line.set_of(op);
      const bool left_it = std::any_of(set.begin(), set.end(), [&](const Item& item) {
        return item.name == seen.name && item.mode == Mode::write;
      });
      // If it was seen before it was asked for, check_observing tells.
      if (left_it && each.returned >= op.asked) op.known = std::min(op.known, each.returned);
    }
  }
}

}  // namespace lockset::history
