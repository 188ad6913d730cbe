#include "history/may_hold.h"

#include <algorithm>

#include "core/time_math.h"

namespace lockset::history {

MayHold::MayHold(const Timeline& line, std::uint32_t name, Since since) {
  struct Edge {
    TimePoint at;
    int change = 0;
    Mode mode{};
  };
  std::vector<Edge> edges;
  for (const ItemRef& ref : line.asks_of[name]) {
    const Op& op = line.ops[ref.op];
    if (!op.may_hold()) continue;
    const Mode mode = line.items[ref.item].mode;
    TimePoint begin = op.asked;
    if (since == Since::granted && op.wait > Duration::zero()) {
      if (op.granted()) begin = op.returned;
      const bool still_waits = op.outcome == Op::Outcome::none;
      if (still_waits && !line.processes[op.process].killed) continue;
    }
    edges.push_back({begin, 1, mode});
    // Times are whole nanoseconds: at the next one it has certainly ended.
    edges.push_back({later(std::max(op.may_end, begin), Duration(1)), -1, mode});
    for (const Return& again : line.returns.of(ref.op)) {
      edges.push_back({again.during.begin, 1, mode});
      edges.push_back({later(again.during.end, Duration(1)), -1, mode});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Count count;
  for (const Edge& edge : edges) {
    std::uint32_t& of_mode = edge.mode == Mode::read ? count.readers : count.writers;
    of_mode += static_cast<std::uint32_t>(edge.change);  // -1 is the greatest number: wraps
    if (times_.empty() || times_.back() != edge.at) {
      times_.push_back(edge.at);
      counts_.emplace_back();
    }
    counts_.back() = count;
  }
  tree_.resize(2 * counts_.size());
  std::copy(counts_.begin(), counts_.end(),
            tree_.begin() + static_cast<std::ptrdiff_t>(counts_.size()));
  for (std::size_t i = counts_.size(); i-- > 1;) {
    tree_[i] = {std::max(tree_[2 * i].readers, tree_[2 * i + 1].readers),
                std::max(tree_[2 * i].writers, tree_[2 * i + 1].writers)};
  }
}

std::size_t MayHold::step_at(TimePoint time) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), time);
  return static_cast<std::size_t>(after - times_.begin()) - (after == times_.begin() ? 0 : 1);
}

MayHold::Count MayHold::most(std::size_t from, std::size_t to) const {
  Count most;
  const auto take = [&](const Count& each) {
    most = {std::max(most.readers, each.readers), std::max(most.writers, each.writers)};
  };
  for (from += counts_.size(), to += counts_.size(); from < to; from /= 2, to /= 2) {
    if (from % 2 == 1) take(tree_[from++]);
    if (to % 2 == 1) take(tree_[--to]);
  }
  return most;
}

bool MayHold::can_block(Mode mode, std::uint32_t permits, Interval during,
                        std::optional<Mode> without) const {
  const auto after = std::upper_bound(times_.begin(), times_.end(), during.end);
  const auto to = static_cast<std::size_t>(after - times_.begin());
  const std::size_t from = step_at(during.begin);
  if (from >= to) return Count{}.blocks(mode, permits);
  Count count = most(from, to);
  if (without) --(*without == Mode::read ? count.readers : count.writers);
  return count.blocks(mode, permits);
}

void MayHold::add_blocked(Mode mode, std::uint32_t permits, Interval during,
                          std::vector<Interval>& blocked) const {
  for (std::size_t i = step_at(during.begin); i < times_.size() && times_[i] < during.end; ++i) {
    if (!counts_[i].blocks(mode, permits)) continue;
    const TimePoint end = i + 1 < times_.size() ? times_[i + 1] : TimePoint::max();
    blocked.push_back({std::max(times_[i], during.begin), std::min(end, during.end)});
  }
}

TimePoint MayHold::free_since(Mode mode, std::uint32_t permits, Interval during) const {
  const auto at = std::lower_bound(times_.begin(), times_.end(), during.end);
  for (auto i = static_cast<std::size_t>(at - times_.begin()); i-- > 0;) {
    const TimePoint end = i + 1 < times_.size() ? times_[i + 1] : TimePoint::max();
    if (end <= during.begin) break;
    if (counts_[i].blocks(mode, permits)) return std::min(end, during.end);
  }
  return during.begin;
}

std::uint32_t MayHold::just_before(TimePoint time) const {
  const auto at = std::lower_bound(times_.begin(), times_.end(), time);
  if (at == times_.begin()) return 0;
  const Count& count = counts_[static_cast<std::size_t>(at - times_.begin()) - 1];
  return count.readers + count.writers;
}

}  // namespace lockset::history
