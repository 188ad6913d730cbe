// Ends what an application's earlier instances left. Semantics 12.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/zookeeper/holds.h"
#include "backends/zookeeper/store.h"

namespace lockset::zookeeper {

// As Backend::reclaim. One atomic step if the holds fit into one request. If there are more, or if
// another one comes meanwhile, those are ended after the step that sets the epoch; no further one
// can come after that step.
Result<std::size_t> reclaim_holds(OpenSpace& space, HoldList& list, std::string_view app,
                                  std::int64_t epoch, TimePoint by);

}  // namespace lockset::zookeeper
