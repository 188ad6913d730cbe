// The live holds of all clients, as the store has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/zookeeper/records.h"
#include "backends/zookeeper/store.h"
#include "lockset/inspection.h"

namespace lockset::zookeeper {

// One node below holds/ or a queue.
struct Listed {
  std::string name;  // the node's own: of a hold its token
  Record record;
  NodeStat stat;

  [[nodiscard]] Stamp stamp() const { return Stamp{record.base + stat.created}; }
};

// Thread-safe.
class HoldList {
 public:
  explicit HoldList(OpenSpace& space) : space_(space) {}

  // All holds that are live at one moment, by ascending stamp: each is there, and no other.
  // Without those of this client that are past their deadlines.
  Result<std::vector<Listed>> holds(TimePoint by);
  // All waiters at about one moment, longest wait first.
  Result<std::vector<Listed>> waiters(TimePoint by);

 private:
  OpenSpace& space_;
};

}  // namespace lockset::zookeeper
