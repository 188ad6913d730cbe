// Observes names, and sweeps the traces of those that nobody observes any more.
#include <utility>

#include "backends/postgresql/backend.h"

namespace lockset::postgresql {

Result<ObserveOutcome> PostgresqlBackend::observe(const ObserveRequest& request) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> rows =
      store_->call(Lane::common, observe_, request.by, failure, collisions,
                   array_of_names(request.names), request.config_version, micros(trace_grain));
  if (!rows) return rows.error();
  if (rows->empty()) return ObserveOutcome(Stale{});
  if ((*rows)[0][0].as<std::int64_t>() < 0) {
    return quarantine(duration_from((*rows)[0][2].as<std::int64_t>()), "nothing is observed");
  }
  std::vector<Trace> traces;
  for (const auto& row : *rows) {
    Trace trace{Stamp{row[0].as<std::int64_t>()}, row[1].as<std::string>(), {}};
    if (!row[2].is_null()) trace.age_us = row[2].as<std::int64_t>();
    trace.being_written = row[3].as<bool>();
    traces.push_back(std::move(trace));
  }
  return ObserveOutcome(std::move(traces));
}

Result<std::size_t> PostgresqlBackend::sweep_traces(Duration unobserved, TimePoint by) {
  CallFailure failure;
  std::uint32_t collisions = 0;
  const Result<pqxx::result> result =
      store_->call(Lane::common, sweep_traces_, by, failure, collisions, micros(unobserved));
  if (!result) return result.error();
  return (*result)[0][0].as<std::size_t>();
}

}  // namespace lockset::postgresql
