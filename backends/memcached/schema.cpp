#include "backends/memcached/schema.h"

#include "backends/memcached/store.h"

namespace lockset::memcached {

Status init(const Options& options, TimePoint by) { return Store(options).init(by); }

}  // namespace lockset::memcached
