// Observing names, and conditions of acquires. Semantics 27 and 28.
#include <algorithm>
#include <utility>

#include "core/machine.h"
#include "core/manager_call.h"
#include "core/time_math.h"

namespace lockset {
namespace {

// If one observation meets more changes of configuration than this, something is wrong.
constexpr int most_stale_observations = 1000;

Error cannot_observe() {
  return {Errc::unsupported,
          "this store keeps no traces of writes: it can't tell what changed since"};
}

bool is_changed(const Observation::Item& seen, const Trace& now) {
  return seen.being_written || seen.last_write != now.last_write;
}

}  // namespace

Result<std::vector<Trace>> Manager::observe(std::span<const std::string> names) {
  if (Status status = usable(); !status) return std::move(status).error();
  if (!traits_.observing) return cannot_observe();
  const TimePoint by = io_deadline();
  std::shared_ptr<const SpaceConfig> config = config_.get();
  bool repeated = false;
  for (int stale = 0; stale < most_stale_observations;) {
    if (Status status = may_take_here(config, by); !status) return std::move(status).error();
    Result<ObserveOutcome> outcome = backend_->observe({names, config->version, by});
    if (!outcome) {
      Error error = std::move(outcome).error();
      const bool again = error.retryable() || error.may_have_applied();
      // The first failure is often a connection that died while idle.
      if (again && !std::exchange(repeated, true)) continue;
      // Nothing that matters was applied.
      if (error.may_have_applied()) error.code = Errc::unavailable;
      return error;
    }
    if (auto* traces = std::get_if<std::vector<Trace>>(&*outcome)) {
      for (const Trace& trace : *traces) raise_high_water(trace.last_write);
      if (traces->size() == names.size()) return std::move(*traces);
      return Error{Errc::internal, "the store answered for " + std::to_string(traces->size()) +
                                       " names instead of " + std::to_string(names.size())};
    }
    ++stale;
    if (Status loaded = load_newer_config(by); !loaded) return std::move(loaded).error();
    config = config_.get();
  }
  return Error{Errc::unavailable,
               "the configuration of the lock space changes faster than it can be read"};
}

Result<std::vector<Change>> Manager::changes_since(const Observation& observation) {
  if (observation.items().empty()) {
    return Error{Errc::invalid, "an observation of nothing: it was moved from"};
  }
  std::vector<std::string> names;
  for (const Observation::Item& item : observation.items()) names.push_back(item.name);
  const Result<std::vector<Trace>> traces = observe(names);
  if (!traces) return traces.error();
  std::vector<Change> changes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Observation::Item& seen = observation.items()[i];
    if (!is_changed(seen, (*traces)[i])) continue;
    changes.push_back(change_of(std::move(names[i]), (*traces)[i]));
    changes.back().was_being_written = seen.being_written;
  }
  return changes;
}

Change Manager::change_of(std::string name, const Trace& trace) const {
  Change change{std::move(name), trace.last_write, trace.label, {}};
  if (trace.age_us) {
    const auto wall =
        traits_.clock != nullptr ? traits_.clock->wall() : std::chrono::system_clock::now();
    change.when = wall - std::chrono::microseconds(*trace.age_us);
  }
  return change;
}

Result<std::vector<Expected>> Manager::condition(const LockSet& set,
                                                 const std::optional<Observation>& seen) const {
  std::vector<Expected> condition;
  if (!seen) return condition;
  if (!traits_.observing) return cannot_observe();
  if (seen->items().empty()) {
    return Error{Errc::invalid, "an observation of nothing: it was moved from"};
  }
  const auto items = set.items();
  for (const Observation::Item& item : seen->items()) {
    const auto found = std::lower_bound(
        items.begin(), items.end(), item.name,
        [](const LockRequest& one, const std::string& name) { return one.name < name; });
    if (found == items.end() || found->name != item.name) {
      return Error{Errc::invalid,
                   in_quotes(item.name) + " was observed and is not in the set: take it as read"};
    }
    condition.push_back({static_cast<std::size_t>(found - items.begin()), item.last_write});
  }
  const auto half = std::find_if(seen->items().begin(), seen->items().end(),
                                 [](const Observation::Item& item) { return item.being_written; });
  if (half != seen->items().end()) {
    return Error{Errc::changed,
                 in_quotes(half->name) + " was being written when it was observed (stamp " +
                     std::to_string(half->last_write.value) + "): read and observe it again"};
  }
  return condition;
}

Error Manager::refused_as_changed(const Call& call, const Changed& changed) const {
  const std::string& name = call.set.items()[changed.item].name;
  const Trace& trace = changed.trace;
  const std::string stamp = "stamp " + std::to_string(trace.last_write.value);
  std::string what = in_quotes(name);
  if (!trace.last_write) {
    what += " may have changed: the store does not remember it any more";
  } else if (trace.label.empty()) {
    what += " may have changed: what the store remembers of it begins with " + stamp;
  } else {
    what += " has changed: " + trace.label + " was granted a write (" + stamp;
    if (trace.age_us) {
      what += ", " + format_duration(std::chrono::microseconds(*trace.age_us)) + " ago";
    }
    what += ")";
  }
  what += "; read and observe it again";
  keeper_.tell({.kind = Event::Kind::changed,
                .stamp = trace.last_write,
                .items = call.set.items(),
                .took = BootClock::now() - call.began,
                .detail = what});
  // A lost reply may have been this call's own grant, which has ended since.
  const bool perhaps_own =
      !call.loop.doubts().empty() && (trace.label.empty() || trace.label == call.owner.label);
  if (perhaps_own)
    return {Errc::indeterminate, what + " (a reply was lost: perhaps it is our own)"};
  return {Errc::changed, what};
}

}  // namespace lockset
