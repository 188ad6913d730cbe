#include "backends/zookeeper/traces.h"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "backends/server/retry.h"
#include "backends/zookeeper/admission.h"

namespace lockset::zookeeper {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

// For one sweep: how many names it looks at together and in all, and how many traces it removes.
constexpr std::size_t names_together = 500;
constexpr std::size_t most_names_swept = 20'000;
constexpr std::size_t most_traces_removed = 500;

// A write without effect. What is read after it in the same session is at least as new as any step
// that was over before: a `sync` would not do, for a leader that was deposed while it stood still
// answers one. The reply tells the server's clock and a zxid.
Request proof_of_majority(const Paths& paths) { return set(paths.names(), "", any_version); }

std::vector<std::string> notes_in(const std::vector<std::string>& children) {
  std::vector<std::string> notes;
  for (const std::string& child : children) {
    if (noted_ms(child)) notes.push_back(child);
  }
  return notes;
}

// When it was noted the last time that the name was observed; 0: never.
std::int64_t last_note_ms(const std::vector<std::string>& notes) {
  std::int64_t last = 0;
  for (const std::string& note : notes) last = std::max(last, *noted_ms(note));
  return last;
}

// Removes a trace. It raises the name's version, too, so that nobody takes it for what it was. If
// the name was observed meanwhile, it has another note, and this fails.
Request removal(const std::string& name, const std::vector<std::string>& notes) {
  std::vector<Request> parts{set(name, std::string(in_line_mark), any_version),
                             remove(below(name, Paths::trace_part))};
  for (const std::string& note : notes) parts.push_back(remove(below(name, note)));
  return multi(std::move(parts));
}

bool in_doubt(int code) { return leaves_doubt(code) || ends_session(code); }

// One call. Used once, by one thread.
class Observe {
 public:
  Observe(OpenSpace& space, const ObserveRequest& request, Stamp least)
      : space_(space), request_(request), least_(least), traces_(request.names.size()) {}

  Result<ObserveOutcome> run() {
    for (std::uint32_t rounds = 1;; ++rounds) {
      Round done = round();
      if (!done) return done.error();
      if (*done) return **std::move(done);
      if (!server::pause_after(rounds, request_.by)) {
        return Error{Errc::unavailable,
                     space_.where + ": these names could not be observed until the deadline"};
      }
    }
  }

 private:
  // Nothing: it has to be repeated from the present state of the store.
  using Round = Result<std::optional<ObserveOutcome>>;

  static Round again() { return std::optional<ObserveOutcome>(); }

  Round round() {
    config_ = space_.config.seen();
    if (!config_ || config_->stored.config.version != request_.config_version) {
      if (Status loaded = load(); !loaded) return loaded.error();
      if (config_->stored.config.version != request_.config_version) {
        return std::optional<ObserveOutcome>(Stale{});
      }
    }
    steps_.clear();
    const Result<bool> read = read_traces();
    if (!read) return read.error();
    if (!*read) return again();
    if (!steps_.empty()) {
      const Result<bool> done = take_steps();
      if (!done) return done.error();
      if (!*done) return again();
    }
    return std::optional<ObserveOutcome>(traces_);
  }

  Status load() {
    Result<std::shared_ptr<const KnownConfig>> now = space_.config.load(request_.by);
    if (!now) return now.error();
    config_ = *std::move(now);
    return {};
  }

  // False: repeat it. Names without a trace, and those whose observation has to be noted, get a
  // step.
  Result<bool> read_traces() {
    const Result<std::shared_ptr<Session>> session = space_.sessions.general(request_.by);
    if (!session) return session.error();
    std::vector<Request> requests{proof_of_majority(space_.paths)};
    // A trace is read after the holders. So a write that was granted before the proof, and is not
    // among the holders, has ended; and one that was granted after the proof is seen by its zxid.
    for (const std::string& name : request_.names) {
      requests.push_back(children(space_.paths.name(name)));
      requests.push_back(get(space_.paths.trace(name)));
    }
    // The last, so that the configuration is the same for all of the time.
    requests.push_back(exists(space_.paths.config()));
    const ConnectionNumber read_at = space_.sessions.connections();
    const Result<Replies> replies = (*session)->run(std::move(requests), request_.by);
    if (!replies) return replies.error();
    for (const Reply& reply : *replies) {
      if (in_doubt(reply.code) && BootClock::now() < request_.by) return false;
      const bool of_space = &reply == &replies->front() || &reply == &replies->back();
      if (!reply.ok() && (of_space || reply.code != ZNONODE)) {
        return error_from(reply.code, space_.where, Sent::reading);
      }
      // Between two connections the store may have been restored.
      if (reply.connection != replies->front().connection) return false;
    }
    const NodeStat& proof = replies->front().stat;
    space_.config.saw(proof.changed, proof.changed_ms);
    if (!config_->is_of(replies->back().stat)) {
      const Status loaded = load();
      if (!loaded) return loaded.error();
      return false;
    }
    if (config_->read_at < read_at) config_ = space_.config.confirm(*config_, read_at);
    now_ms_ = proof.changed_ms;
    for (std::size_t i = 0; i < request_.names.size(); ++i) {
      const Reply& name = (*replies)[1 + 2 * i];
      const Reply& trace = (*replies)[2 + 2 * i];
      NameState state = state_of(name, config_->version, read_at);
      if (!state.observed || trace.code == ZNONODE) {
        steps_.push_back({i, true, state.exists, notes_in(name.children)});
        continue;
      }
      const std::optional<SeenTrace> seen = seen_trace(trace);
      if (!seen) return not_ours(request_.names[i]);
      const bool just_changed = trace.stat.changed > proof.changed;
      if (just_changed && !seen->label) return false;  // made after the holders were read, perhaps
      traces_[i] = trace_of(*seen, config_->stored, now_ms_ * 1000);
      traces_[i].being_written = just_changed || being_written(state.holders);
      state.last_write = seen->last_write;
      space_.names.learn(request_.names[i], std::move(state));
      const std::vector<std::string> notes = notes_in(name.children);
      if (milliseconds(now_ms_ - last_note_ms(notes)) >= trace_grain) {
        steps_.push_back({i, false, true, notes});
      }
    }
    return true;
  }

  [[nodiscard]] Error not_ours(const std::string& name) const {
    return {Errc::misconfigured, space_.where + ": " + space_.paths.trace(name) +
                                     " is not what Lockset writes there: delete it"};
  }

  // False: repeat all.
  Result<bool> take_steps() {
    if (Status ready = get_ready_to_draw(); !ready) return ready.error();
    if (config_->stored.config.version != request_.config_version) return false;
    std::vector<Request> requests;
    for (const Step& step : steps_) {
      requests.push_back(step.makes ? making(step) : noting(step));
      // After it is made, who holds the name; as in read_traces.
      requests.push_back(children(space_.paths.name(request_.names[step.name])));
    }
    const Result<std::shared_ptr<Session>> session = space_.sessions.general(request_.by);
    if (!session) return session.error();
    const ConnectionNumber read_at = space_.sessions.connections();
    const Result<Replies> replies = (*session)->run(std::move(requests), request_.by);
    if (!replies) return replies.error();
    bool all = true;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Reply& step = (*replies)[2 * i];
      const Reply& name = (*replies)[2 * i + 1];
      for (const int code : {step.code, name.code}) {
        if (in_doubt(code) && BootClock::now() >= request_.by) {
          return error_from(code, space_.where, Sent::reading);
        }
        if (code == ZOK || in_doubt(code) || was_overtaken(code)) continue;
        return error_from(code, space_.where, Sent::reading);
      }
      // Another client may have noted it, or removed the trace: then it counts as changed.
      const bool noted = step.code == ZNONODE || step.code == ZNODEEXISTS;
      if (!steps_[i].makes) {
        all = all && (step.ok() || noted);
        continue;
      }
      const Result<bool> made =
          step.ok() && name.ok() ? take_made(steps_[i], step, name, read_at) : Result<bool>(false);
      if (!made) return made.error();
      all = all && *made;
    }
    return all;
  }

  // Another client made, removed or changed something meanwhile.
  static bool was_overtaken(int code) {
    return code == ZBADVERSION || code == ZNONODE || code == ZNODEEXISTS;
  }

  // Gets the configuration from which stamps are drawn. Programs that know no traces are shut out
  // first, for they would not change them.
  Status get_ready_to_draw() {
    if (std::none_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.makes; })) {
      return {};
    }
    if (!config_->stored.traces) {
      const auto begun = space_.config.change(
          [](StoredConfig& stored, std::int64_t) { return !std::exchange(stored.traces, true); },
          request_.by);
      if (!begun) return begun.error();
      config_ = *begun;
    }
    Result<std::shared_ptr<const KnownConfig>> stamping =
        space_.config.for_stamp(config_, least_, request_.by);
    if (!stamping) return stamping.error();
    config_ = *std::move(stamping);
    return {};
  }

  struct Step {
    std::size_t name;
    bool makes;   // the trace; otherwise notes only that it was observed
    bool exists;  // the name's node
    std::vector<std::string> notes;
  };

  // The name's version goes up whatever it is, so this fails for no grant that comes in between.
  // The mark is wrong at worst for a moment.
  [[nodiscard]] Request making(const Step& step) const {
    const std::string& name = request_.names[step.name];
    Request request = noting(step);
    if (!step.exists) {
      request.parts.insert(request.parts.begin() + 1,
                           create(space_.paths.name(name), "", Lasting::persistent));
    }
    request.parts.push_back(create(
        space_.paths.trace(name), to_text(TraceRecord{config_->stored.base}), Lasting::persistent));
    request.parts.push_back(set(space_.paths.name(name), std::string(in_line_mark), any_version));
    return request;
  }

  // The accounts for which it is made are those of the configuration.
  [[nodiscard]] Request noting(const Step& step) const {
    const std::string path = space_.paths.name(request_.names[step.name]);
    std::vector<Request> parts{check(space_.paths.config(), config_->version)};
    for (const std::string& note : step.notes) parts.push_back(remove(below(path, note)));
    parts.push_back(create(below(path, note_part(now_ms_)), "", Lasting::persistent));
    return multi(std::move(parts));
  }

  // False: its stamp might have been given before, and it is removed.
  Result<bool> take_made(const Step& step, const Reply& made, const Reply& name,
                         ConnectionNumber read_at) {
    const NodeStat& set = made.parts.back().stat;
    space_.config.saw(set.changed, set.changed_ms);
    const Stamp drawn{config_->stored.base + set.changed};
    const std::string& text = request_.names[step.name];
    if (ConfigNode::too_low(drawn, set.changed_ms, least_)) {
      const Result<std::shared_ptr<Session>> session = space_.sessions.general(request_.by);
      if (!session) return session.error();
      const Result<Replies> removed =
          (*session)->run({removal(space_.paths.name(text), {note_part(now_ms_)})}, request_.by);
      if (!removed) return removed.error();
      const int code = removed->front().code;
      if (code != ZOK && code != ZNONODE) return error_from(code, space_.where, Sent::reading);
      if (Status raised = space_.config.raise_base(least_.value, request_.by); !raised) {
        return Error{Errc::unavailable, raised.error().message};
      }
      return false;
    }
    NameState state = state_of(name, config_->version, read_at);
    traces_[step.name] = trace_of({drawn}, config_->stored, now_ms_ * 1000);
    traces_[step.name].being_written = being_written(state.holders);
    if (state.version != set.version) return true;  // perhaps it was written already
    state.last_write = drawn;
    space_.names.learn(text, std::move(state));
    return true;
  }

  OpenSpace& space_;
  const ObserveRequest& request_;
  const Stamp least_;
  std::shared_ptr<const KnownConfig> config_;
  std::int64_t now_ms_ = 0;  // by the server's clock
  std::vector<Step> steps_;
  std::vector<Trace> traces_;
};

}  // namespace

std::optional<SeenTrace> seen_trace(const Reply& reply) {
  if (!reply.ok()) return {};
  std::optional<TraceRecord> record = trace_from(reply.text);
  if (!record) return {};
  return SeenTrace{Stamp{record->base + reply.stat.changed}, std::move(record->label),
                   reply.stat.changed_ms};
}

Stamp value_of(Stamp last_write, const StoredConfig& config) {
  return std::max(last_write, config.config.stamp_base);
}

Trace trace_of(const SeenTrace& seen, const StoredConfig& config, std::int64_t now_us) {
  Trace trace;
  trace.last_write = value_of(seen.last_write, config);
  // A base above it says that later writes may be missing here.
  if (!seen.label || trace.last_write != seen.last_write) return trace;
  trace.label = *seen.label;
  trace.age_us = std::max<std::int64_t>(now_us - seen.changed_ms * 1000, 0);
  return trace;
}

Result<ObserveOutcome> Traces::observe(const ObserveRequest& request, Stamp least) {
  return Observe(space_, request, least).run();
}

Result<std::size_t> Traces::sweep(Duration unobserved, TimePoint by) {
  const auto failed = [&](int code, Sent sent) { return error_from(code, space_.where, sent); };
  const std::lock_guard lock(mutex_);
  const Result<std::shared_ptr<const KnownConfig>> config = space_.config.load(by);
  if (!config) return config.error();
  if (!(*config)->stored.traces) return std::size_t{0};
  const Result<std::shared_ptr<Session>> session = space_.sessions.general(by);
  if (!session) return session.error();
  Result<Replies> list =
      (*session)->run({proof_of_majority(space_.paths), children(space_.paths.names())}, by);
  if (!list) return list.error();
  for (const Reply& reply : *list) {
    if (!reply.ok()) return failed(reply.code, Sent::reading);
  }
  const NodeStat& now = list->front().stat;
  space_.config.saw(now.changed, now.changed_ms);
  const std::int64_t oldest_ms = now.changed_ms - duration_cast<milliseconds>(unobserved).count();
  std::vector<std::string>& names = list->back().children;
  std::sort(names.begin(), names.end());
  std::size_t removed = 0;
  auto next = std::upper_bound(names.begin(), names.end(), from_);
  const auto end = next + std::min<std::ptrdiff_t>(names.end() - next, most_names_swept);
  while (next != end && removed < most_traces_removed) {
    const auto first = next;
    next += std::min<std::ptrdiff_t>(end - next, names_together);
    std::vector<Request> looks;
    for (auto name = first; name != next; ++name) {
      looks.push_back(children(below(space_.paths.names(), *name)));
    }
    const Result<Replies> found = (*session)->run(std::move(looks), by);
    if (!found) return found.error();
    std::vector<Request> steps;
    for (auto name = first; name != next; ++name) {
      const Reply& reply = (*found)[static_cast<std::size_t>(name - first)];
      const std::vector<std::string> notes = notes_in(reply.children);
      if (notes.empty() || last_note_ms(notes) > oldest_ms) continue;
      steps.push_back(removal(below(space_.paths.names(), *name), notes));
    }
    if (!steps.empty()) {
      const Result<Replies> done = (*session)->run(std::move(steps), by);
      if (!done) return done.error();
      for (const Reply& reply : *done) {
        if (in_doubt(reply.code)) return failed(reply.code, Sent::change);
        removed += reply.ok() ? 1 : 0;
      }
    }
    from_ = *std::prev(next);
  }
  if (next == names.end()) from_.clear();
  return removed;
}

}  // namespace lockset::zookeeper
