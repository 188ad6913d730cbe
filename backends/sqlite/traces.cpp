#include "backends/sqlite/traces.h"

#include <algorithm>
#include <chrono>

#include "backends/sqlite/holds.h"
#include "backends/sqlite/waiting.h"

namespace lockset::sqlite {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// The most traces that one call removes.
constexpr std::int64_t removed_at_once = 500;

std::int64_t wall_before(const Transaction& transaction, Duration time) {
  return transaction.wall_us - duration_cast<microseconds>(time).count();
}

bool was_observed_lately(Transaction& transaction, std::string_view name) {
  Query row = transaction.db.use("SELECT 1 FROM traces WHERE name = ? AND observed_wall_us > ?");
  return row.bind(Blob{name}, wall_before(transaction, trace_grain)).next();
}

}  // namespace

Trace read_trace(Transaction& transaction, std::string_view name, const SpaceRow& space) {
  Query row =
      transaction.db.use("SELECT last_write, label, written_wall_us FROM traces WHERE name = ?");
  if (!row.bind(Blob{name}).next()) return {};
  const std::int64_t last_write = row.integer(0);
  // The base says that later writes may be missing here.
  if (last_write < space.stamp_base) return {.last_write = Stamp{space.stamp_base}};
  Trace trace{Stamp{last_write}, row.text(1), {}};
  if (const std::optional<std::int64_t> written_us = row.optional_integer(2)) {
    trace.age_us = std::max<std::int64_t>(0, transaction.wall_us - *written_us);
  }
  return trace;
}

std::optional<ObserveOutcome> observe_unchanged(Transaction& transaction,
                                                const ObserveRequest& request) {
  const SpaceRow space = read_space(transaction);
  if (space.version != request.config_version) return Stale{};
  std::vector<Trace> traces;
  for (const std::string& name : request.names) {
    std::vector<Stamp> expired;
    const NameState state = look_at_name(transaction, name, &expired);
    if (!expired.empty() || !was_observed_lately(transaction, name)) return {};
    traces.push_back(read_trace(transaction, name, space));
    traces.back().being_written = state.writes.count > 0;
  }
  return traces;
}

ObserveOutcome observe(Transaction& transaction, const ObserveRequest& request) {
  SpaceRow space = read_space(transaction);
  if (space.version != request.config_version) return Stale{};
  std::vector<Trace> traces;
  for (const std::string& name : request.names) {
    // Perhaps nobody else comes who would remove it.
    std::vector<Stamp> expired;
    const NameState state = look_at_name(transaction, name, &expired);
    for (const Stamp stamp : expired) wake_for(transaction, remove_hold(transaction, stamp));
    if (!was_observed_lately(transaction, name)) {
      Query note = transaction.db.use("UPDATE traces SET observed_wall_us = ? WHERE name = ?");
      note.bind(transaction.wall_us, Blob{name}).run();
      if (transaction.db.changes() == 0) {
        const Stamp drawn = draw_stamp(transaction, space);
        transaction.db.use("INSERT INTO traces VALUES (?,?,'',NULL,?)")
            .bind(Blob{name}, drawn.value, transaction.wall_us)
            .run();
      }
    }
    traces.push_back(read_trace(transaction, name, space));
    traces.back().being_written = state.writes.count > 0;
  }
  return traces;
}

std::vector<std::string> find_unobserved(Transaction& transaction, Duration unobserved) {
  std::vector<std::string> names;
  Query row = transaction.db.use("SELECT name FROM traces WHERE observed_wall_us <= ? LIMIT ?");
  row.bind(wall_before(transaction, unobserved), removed_at_once);
  while (row.next()) names.push_back(row.text(0));
  return names;
}

std::size_t remove_unobserved(Transaction& transaction, const std::vector<std::string>& names,
                              Duration unobserved) {
  std::size_t removed = 0;
  for (const std::string& name : names) {
    transaction.db.use("DELETE FROM traces WHERE name = ? AND observed_wall_us <= ?")
        .bind(Blob{name}, wall_before(transaction, unobserved))
        .run();
    removed += static_cast<std::size_t>(transaction.db.changes());
  }
  return removed;
}

}  // namespace lockset::sqlite
