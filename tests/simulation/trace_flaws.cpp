#include "tests/simulation/trace_flaws.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lockset/forwarding_backend.h"

namespace lockset::simulation {
namespace {

using namespace std::chrono_literals;

// How long a write does not show, or a trace is being made.
constexpr Duration meanwhile = 200ms;

// Shows something else than the traces that the sound store keeps.
class WrongTraces final : public ForwardingBackend {
 public:
  WrongTraces(std::unique_ptr<Backend> sound, Flaw flaw, World& world)
      : ForwardingBackend(std::move(sound)), flaw_(flaw), world_(world) {}

  Result<AcquireOutcome> try_acquire(const AcquireRequest& request) override {
    AcquireRequest changed = request;
    std::vector<Expected> condition(request.unchanged_since.begin(), request.unchanged_since.end());
    for (Expected& each : condition) {
      const std::string& name = request.set->items()[each.item].name;
      const std::optional<Stamp> shown = shown_instead(name);
      const auto real = trace(name, request);
      if (!shown || !real) continue;
      each.last_write = each.last_write == *shown ? *real : Stamp{};
    }
    changed.unchanged_since = condition;
    std::map<std::string, Stamp> before;
    for (const LockRequest& item : request.set->items()) {
      const auto real = trace(item.name, request);
      if (item.mode == Mode::write && real) {
        before[item.name] = shown_instead(item.name).value_or(*real);
      }
    }
    Result<AcquireOutcome> outcome = inner().try_acquire(changed);
    if (outcome && std::holds_alternative<Grant>(*outcome)) note_writes(before);
    return outcome;
  }

  Result<ObserveOutcome> observe(const ObserveRequest& request) override {
    Result<ObserveOutcome> outcome = inner().observe(request);
    auto* const traces = outcome ? std::get_if<std::vector<Trace>>(&*outcome) : nullptr;
    for (std::size_t i = 0; traces != nullptr && i < request.names.size(); ++i) {
      const std::string& name = request.names[i];
      Trace& trace = (*traces)[i];
      made_.try_emplace(name, Made{trace.last_write, world_.now()});
      if (flaw_ == Flaw::unsaid_writers) trace.being_written = false;
      const std::optional<Stamp> shown = shown_instead(name);
      if (!shown) continue;
      trace.last_write = *shown;
      if (flaw_ == Flaw::late_traces) trace.being_written = false;
    }
    return outcome;
  }

 private:
  struct Made {
    Stamp trace;
    TimePoint at;
  };
  struct Shown {
    Stamp trace;
    TimePoint until;
  };

  // The last write of an observed name; nothing for other names.
  std::optional<Stamp> trace(const std::string& name, const AcquireRequest& request) {
    if (!made_.contains(name)) return {};
    const Result<ObserveOutcome> outcome =
        inner().observe({{&name, 1}, request.config_version, request.by});
    const auto* const traces = std::get_if<std::vector<Trace>>(&*outcome);
    return traces == nullptr ? std::nullopt : std::optional(traces->front().last_write);
  }
  std::optional<Stamp> shown_instead(const std::string& name) const {
    const auto at = shown_.find(name);
    const bool shown = at != shown_.end() && world_.now() < at->second.until;
    return shown ? std::optional(at->second.trace) : std::nullopt;
  }
  // `before`: what the traces of these names showed.
  void note_writes(const std::map<std::string, Stamp>& before) {
    bool first = true;
    for (const auto& [name, trace] : before) {
      shown_.erase(name);
      const Made& made = made_.at(name);
      const bool being_made = world_.now() < made.at + meanwhile;
      if (flaw_ == Flaw::unmarked_writes && !std::exchange(first, false)) {
        shown_[name] = {trace, TimePoint::max()};
      } else if (flaw_ == Flaw::late_traces) {
        shown_[name] = {trace, world_.now() + meanwhile};
      } else if (flaw_ == Flaw::unordered_traces && being_made) {
        shown_[name] = {made.trace, TimePoint::max()};
      }
    }
  }

  const Flaw flaw_;
  World& world_;
  std::map<std::string, Made> made_;
  std::map<std::string, Shown> shown_;
};

}  // namespace

std::unique_ptr<Backend> with_trace_flaw(Flaw flaw, std::unique_ptr<Backend> sound, World& world) {
  switch (flaw) {
    case Flaw::unmarked_writes:
    case Flaw::late_traces:
    case Flaw::unordered_traces:
    case Flaw::unsaid_writers:
      return std::make_unique<WrongTraces>(std::move(sound), flaw, world);
    default:
      return sound;
  }
}

}  // namespace lockset::simulation
