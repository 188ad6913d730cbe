// Ends what an application's earlier instances left behind. Semantics 12.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/zookeeper/holds.h"
#include "backends/zookeeper/store.h"

namespace lockset::zookeeper {

// As Backend::reclaim. One atomic step as far as the holds fit into one request; where they
// are more, or where one comes in between, those are ended behind the step that makes the
// epoch, after which no further one can come.
Result<std::size_t> reclaim_holds(OpenSpace& space, HoldList& list, std::string_view app,
                                  std::int64_t epoch, TimePoint by);

}  // namespace lockset::zookeeper
