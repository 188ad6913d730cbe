#include "history/permits_book.h"

namespace lockset::history {

PermitsBook::PermitsBook(const Timeline& line) : of_name_(line.names.size()) {
  for (const PermitsChange& change : line.permits) {
    OfName& of = of_name_[change.name];
    const TimePoint before = of.latest_end.empty() ? change.during.end : of.latest_end.back();
    of.changes.push_back(change);
    of.latest_end.push_back(std::max(before, change.during.end));
    of.done.push_back(change.during);
  }
  for (OfName& of : of_name_) {
    std::sort(of.done.begin(), of.done.end(),
              [](const Interval& a, const Interval& b) { return a.end < b.end; });
    for (std::size_t i = 1; i < of.done.size(); ++i) {
      of.done[i].begin = std::max(of.done[i].begin, of.done[i - 1].begin);
    }
  }
}

PermitsBook::Possible PermitsBook::during(std::uint32_t name, Mode mode, Interval call) const {
  const OfName& of = of_name_[name];
  Possible possible;
  // The changes that certainly came before the call. The last one of them to begin replaces all
  // that had ended by then.
  const auto done =
      std::lower_bound(of.done.begin(), of.done.end(), call.begin,
                       [](const Interval& each, TimePoint time) { return each.end < time; });
  possible.anything = done == of.done.begin();
  const auto begun = std::upper_bound(
      of.changes.begin(), of.changes.end(), call.end,
      [](TimePoint time, const PermitsChange& each) { return time < each.during.begin; });
  for (auto i = static_cast<std::size_t>(begun - of.changes.begin()); i > 0; --i) {
    const PermitsChange& change = of.changes[i - 1];
    if (!possible.anything && of.latest_end[i - 1] < std::prev(done)->begin) break;
    if (!possible.anything && change.during.end < std::prev(done)->begin) continue;
    possible.values.push_back(mode == Mode::read ? change.read : change.write);
  }
  return possible;
}

}  // namespace lockset::history
