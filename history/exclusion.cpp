// I1: at no instant do holds that were certainly there break the admission rule.
//
// Each hold counts from the moment when its grant was known to the moment when its holder released
// it or could no longer rely on it. That is the latest possible grant and the earliest possible
// end, so every set of holders is as small as possible. If this choice breaks the rule, every
// choice does; if it does not, it is itself an order of events that keeps the rule.
#include <algorithm>
#include <tuple>
#include <utility>

#include "history/timeline.h"

namespace lockset::history {
namespace {

struct Edge {
  TimePoint at;
  bool begins = false;
  ItemRef ref;
};

// The holders of one name and mode.
class Holders {
 public:
  void add(ItemRef ref) { refs_.push_back(ref); }
  void remove(ItemRef ref) {
    std::erase_if(refs_, [&](const ItemRef& each) { return each.op == ref.op; });
  }
  [[nodiscard]] const std::vector<ItemRef>& refs() const { return refs_; }
  // The last holder was admitted by the permits of that time, which may have changed since. So the
  // greatest number by which any of them was admitted counts.
  [[nodiscard]] bool too_many(const Timeline& line) const {
    std::size_t permits = 0;
    for (const ItemRef& each : refs_) {
      permits = std::max<std::size_t>(permits, line.items[each.item].permits);
    }
    return refs_.size() > permits;
  }

 private:
  std::vector<ItemRef> refs_;
};

std::string story(const Timeline& line, std::uint32_t name, const Edge& edge, const Holders& same,
                  const Holders& other) {
  const bool mixed = !other.refs().empty();
  const std::string mode(to_string(line.items[edge.ref.item].mode));
  std::string text = "name " + in_quotes(line.names[name]) + " at " + line.at(edge.at) + ": ";
  text += mixed ? "a read and a write hold at once"
                : std::to_string(same.refs().size()) + " " + mode +
                      " holds at once, more than its " + mode + " permits";
  text += "\n  " + line.tell(line.ops[edge.ref.op]);
  for (const ItemRef& each : (mixed ? other : same).refs()) {
    if (each.op != edge.ref.op) text += "\n  " + line.tell(line.ops[each.op]);
  }
  return text;
}

}  // namespace

void check_exclusion(const Timeline& line, const Rules&, Findings& findings) {
  std::vector<Edge> edges;
  for (std::uint32_t name = 0; name < line.names.size(); ++name) {
    edges.clear();
    for (const ItemRef& ref : line.asks_of[name]) {
      const Op& op = line.ops[ref.op];
      if (!op.granted() || op.must_end <= op.returned) continue;
      edges.push_back({op.returned, true, ref});
      edges.push_back({op.must_end, false, ref});
    }
    // Ends first: a holder that ends at the instant of a grant did not block it.
    std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) {
      return std::tuple(a.at, a.begins, a.ref.op) < std::tuple(b.at, b.begins, b.ref.op);
    });
    Holders readers;
    Holders writers;
    for (const Edge& edge : edges) {
      const bool reads = line.items[edge.ref.item].mode == Mode::read;
      Holders& same = reads ? readers : writers;
      const Holders& other = reads ? writers : readers;
      if (!edge.begins) {
        same.remove(edge.ref);
        continue;
      }
      same.add(edge.ref);
      if (other.refs().empty() && !same.too_many(line)) continue;
      findings.add(Invariant::exclusion, [&] { return story(line, name, edge, same, other); });
    }
  }
}

}  // namespace lockset::history
