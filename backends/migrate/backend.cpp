#include "backends/migrate/backend.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lockset::migrate {
namespace {

// The weaker of both; a backend that is not open counts as the weaker one.
Traits weaker(const Backend* one, const Backend* other) {
  Traits result;
  if (one == nullptr || other == nullptr) {
    result = (one != nullptr ? one : other)->traits();
    result.push_wakeup = false;
    result.queued_wakeup = false;
    result.bounded_overtaking = false;
    result.lists_waiters = false;
    return result;
  }
  const Traits a = one->traits();
  const Traits b = other->traits();
  result.push_wakeup = a.push_wakeup && b.push_wakeup;
  result.queued_wakeup = a.queued_wakeup && b.queued_wakeup;
  result.bounded_overtaking = a.bounded_overtaking && b.bounded_overtaking;
  result.lists_waiters = a.lists_waiters && b.lists_waiters;
  result.permanent_leases = a.permanent_leases && b.permanent_leases;
  result.holds_outlive_process = a.holds_outlive_process && b.holds_outlive_process;
  result.shared_between_processes = a.shared_between_processes && b.shared_between_processes;
  result.ends_with_process = a.ends_with_process || b.ends_with_process;
  result.floors = a.floors && b.floors;
  result.observing = a.observing && b.observing;
  result.counted_permits = a.counted_permits && b.counted_permits;
  result.can_reclaim = a.can_reclaim && b.can_reclaim;
  result.holds_outlive_connections = a.holds_outlive_connections && b.holds_outlive_connections;
  result.session_leases = a.session_leases || b.session_leases;
  result.clock = a.clock == b.clock ? a.clock : nullptr;
  result.renew_chunk = std::min(a.renew_chunk, b.renew_chunk);
  return result;
}

}  // namespace

MigrateBackend::MigrateBackend(OpenStore from, OpenStore to)
    : old_(std::move(from)), new_(std::move(to)) {}

Status MigrateBackend::open(TimePoint by) {
  const Result<Now> view = read_both(by);
  if (!view) return view.error();
  const Backend* const old_store = old_.opened();
  const Backend* const new_store = new_.opened();
  for (const auto& [store, which] : {std::pair(old_store, "old"), std::pair(new_store, "new")}) {
    if (store == nullptr || store->traits().can_migrate) continue;
    return Error{Errc::unsupported, std::string("the ") + which +
                                        " store is of a kind that can't take part in a migration"};
  }
  // After the switch the old store is not needed, and may be gone.
  const bool new_alone = !in_old((*view)->stage.phase);
  traits_ = new_alone ? new_store->traits() : weaker(old_store, new_store);
  traits_.can_migrate = false;
  // A hold may stand in two stores, and no step changes both.
  traits_.converting = false;
  return {};
}

Result<std::unique_ptr<Backend>> open_migrate_backend(OpenStore from, OpenStore to, TimePoint by) {
  auto backend = std::make_unique<MigrateBackend>(std::move(from), std::move(to));
  if (Status status = backend->open(by); !status) return std::move(status).error();
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace lockset::migrate
