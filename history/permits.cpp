// I9: a grant obeys the permits of its time: those of the last change that had returned before it
// was asked for, or of one that was under way.
#include "history/permits_book.h"
#include "history/timeline.h"

namespace lockset::history {

void check_permits(const Timeline& line, const Rules&, Findings& findings) {
  if (line.permits.empty()) return;
  const PermitsBook book(line);
  for (const Op& op : line.ops) {
    if (!op.granted()) continue;
    for (const Item& item : line.set_of(op)) {
      if (!item.said) continue;
      const auto possible = book.during(item.name, item.mode, {op.asked, op.returned});
      if (possible.admits(item.permits)) continue;
      findings.add(Invariant::permits, [&] {
        std::string text = "granted with " + std::to_string(item.permits) + " " +
                           std::string(to_string(item.mode)) + " permits of " +
                           in_quotes(line.names[item.name]) + ", which were then";
        for (const std::uint32_t value : possible.values) text += " " + std::to_string(value);
        return text + "\n  " + line.tell(op);
      });
    }
  }
}

}  // namespace lockset::history
