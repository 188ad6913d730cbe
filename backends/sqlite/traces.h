// The table traces: the last write of each name that somebody observed (semantics 27). Its trigger
// (statements/traces.sql) notes each write grant.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/sqlite/space_row.h"
#include "backends/sqlite/store.h"
#include "lockset/backend.h"

namespace lockset::sqlite {

// Without Trace::being_written. last_write is 0 if there is no trace. A read transaction is enough.
Trace read_trace(Transaction& transaction, std::string_view name, const SpaceRow& space);

// The answer, if there is nothing to write down: all names have traces that were observed lately,
// and no expired holds. Otherwise unset. A read transaction is enough.
std::optional<ObserveOutcome> observe_unchanged(Transaction& transaction,
                                                const ObserveRequest& request);
// In a write transaction.
ObserveOutcome observe(Transaction& transaction, const ObserveRequest& request);

// Names of some traces that were not observed for at least `unobserved`. A read transaction is
// enough.
std::vector<std::string> find_unobserved(Transaction& transaction, Duration unobserved);
// Removes those of them that were not observed since. In a write transaction.
std::size_t remove_unobserved(Transaction& transaction, const std::vector<std::string>& names,
                              Duration unobserved);

}  // namespace lockset::sqlite
