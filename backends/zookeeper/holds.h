// The live holds of all clients, as the store has them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/zookeeper/records.h"
#include "backends/zookeeper/store.h"
#include "lockset/inspection.h"

namespace lockset::zookeeper {

// A node below holds/ or a queue.
struct Listed {
  std::string name;  // the last part of its path; for a hold, its token
  Record record;
  NodeStat stat;

  [[nodiscard]] Stamp stamp() const { return Stamp{record.base + stat.created}; }
};

// Thread-safe.
class HoldList {
 public:
  explicit HoldList(OpenSpace& space) : space_(space) {}

  // All holds that are live at one moment, by ascending stamp: exactly these. Without holds of this
  // client that are past their deadlines.
  Result<std::vector<Listed>> holds(TimePoint by);
  // All waiters at roughly one moment, longest wait first.
  Result<std::vector<Listed>> waiters(TimePoint by);

 private:
  OpenSpace& space_;
};

}  // namespace lockset::zookeeper
