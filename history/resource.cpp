// I6: a fenced resource keeps the greatest floor that it has accepted for a name, refuses stamps
// below it, and accepts every holder as long as it certainly holds.
#include "history/timeline.h"

namespace lockset::history {
namespace {

const Item* item_of(const Timeline& line, const ResourceUse& use) {
  if (use.op == nobody) return nullptr;
  for (const Item& item : line.set_of(line.ops[use.op])) {
    if (item.name == use.name) return &item;
  }
  return nullptr;
}

std::string told(const Timeline& line, const ResourceUse& use) {
  std::string text = "stamp " + std::to_string(use.stamp.value) + " used " +
                     in_quotes(line.names[use.name]) + " at " + line.at(use.at);
  if (use.op != nobody) text += "\n  " + line.tell(line.ops[use.op]);
  return text;
}

}  // namespace

void check_resource(const Timeline& line, const Rules& rules, Findings& findings) {
  Stamp floor;
  const ResourceUse* raised_by = nullptr;
  const ResourceUse* before = nullptr;
  for (const ResourceUse& use : line.uses) {
    if (before == nullptr || before->name != use.name) floor = {};
    before = &use;
    const Item* const item = item_of(line, use);
    if (use.accepted) {
      if (use.stamp < floor) {
        findings.add(Invariant::resource, [&] {
          return "a stale holder was let in: " + told(line, use) + "\n  after " +
                 told(line, *raised_by);
        });
      }
      // Holders that share without reporting floors can't be told apart by stamps.
      const bool alone = item == nullptr || item->permits == 1;
      const bool has_floor = item != nullptr && line.ops[use.op].has_floors;
      const Stamp raised = has_floor ? item->floor : alone ? use.stamp : Stamp{};
      if (raised > floor) {
        floor = raised;
        raised_by = &use;
      }
      continue;
    }
    if (item == nullptr || !rules.leases_last) continue;
    const Op& op = line.ops[use.op];
    const bool fenced = op.has_floors || item->permits == 1;
    if (!fenced || use.at < op.returned || use.at >= op.must_end) continue;
    findings.add(Invariant::resource,
                 [&] { return "a live holder was refused: " + told(line, use); });
  }
}

}  // namespace lockset::history
