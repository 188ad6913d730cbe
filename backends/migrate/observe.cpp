// Observing names: the store that gives the stamps has the traces that count.
#include <utility>

#include "backends/migrate/backend.h"

namespace lockset::migrate {

Result<ObserveOutcome> MigrateBackend::observe(const ObserveRequest& request) {
  const Result<Now> found = view_to_ask_by(request.by);
  if (!found) return found.error();
  const View& view = **found;
  if (request.config_version != view.together.version) return ObserveOutcome(Stale{});
  if (view.stage.phase != MigrationPhase::dual_new) {
    return observe_in(in_new(view.stage.phase) && !in_both(view.stage.phase) ? Which::new_store
                                                                             : Which::old_store,
                      request, view);
  }
  // A hold from before dual-old may still stand in the old store alone. None can come any more, so
  // the old store is asked first: what is not written there now will not be.
  Result<ObserveOutcome> in_old = observe_in(Which::old_store, request, view);
  const auto* const of_old = in_old ? std::get_if<std::vector<Trace>>(&*in_old) : nullptr;
  if (of_old == nullptr) {
    if (!in_old) old_is_silent_ = true;
    return in_old;
  }
  Result<ObserveOutcome> outcome = observe_in(Which::new_store, request, view);
  if (auto* traces = outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr) {
    for (std::size_t i = 0; i < traces->size() && i < of_old->size(); ++i) {
      Trace& trace = (*traces)[i];
      trace.being_written = trace.being_written || (*of_old)[i].being_written;
    }
  }
  return outcome;
}

Result<ObserveOutcome> MigrateBackend::observe_in(Which which, const ObserveRequest& request,
                                                  const View& view) {
  const Result<Backend*> store = side(which).get(request.by);
  if (!store) return store.error();
  const bool old_store = which == Which::old_store;
  const SpaceConfig& config = old_store ? *view.old_config : *view.new_config;
  Result<ObserveOutcome> outcome = (*store)->observe({request.names, config.version, request.by});
  if (auto* traces = outcome && old_store ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr) {
    for (std::size_t i = 0; i < traces->size() && i < request.names.size(); ++i) {
      given_back_.restore(request.names[i], (*traces)[i]);
    }
  }
  return outcome;
}

std::optional<Changed> MigrateBackend::changed_in_new(const AcquireRequest& request,
                                                      const View& view) {
  std::vector<std::string> names;
  for (const Expected& each : request.unchanged_since) {
    names.push_back(request.set->items()[each.item].name);
  }
  if (names.empty()) return {};
  Result<ObserveOutcome> outcome =
      observe_in(Which::new_store, {names, request.config_version, request.by}, view);
  auto* const traces = outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr;
  for (std::size_t i = 0; traces != nullptr && i < names.size(); ++i) {
    const Expected& each = request.unchanged_since[i];
    if ((*traces)[i].last_write != each.last_write) {
      return Changed{each.item, std::move((*traces)[i])};
    }
  }
  return {};
}

Result<std::size_t> MigrateBackend::sweep_traces(Duration unobserved, TimePoint by) {
  const Now view = now();
  if (!view) return std::size_t{0};
  const MigrationPhase phase = view->stage.phase;
  std::size_t removed = 0;
  for (const Which which : {Which::old_store, Which::new_store}) {
    const bool old_store = which == Which::old_store;
    if (!(old_store ? in_old(phase) : in_new(phase))) continue;
    const Result<Backend*> store = side(which).get(by);
    const Result<std::size_t> here = store ? (*store)->sweep_traces(unobserved, by) : store.error();
    if (!here) return here.error();
    // A trace counts once, in the store that gives the stamps.
    if (old_store == (phase <= MigrationPhase::dual_old)) removed = *here;
  }
  return removed;
}

}  // namespace lockset::migrate
