// The first walk: acquires, observations, validations, and their answers.
#include <optional>
#include <utility>

#include "history/gather.h"

namespace lockset::history {

namespace {

class Acquires {
 public:
  explicit Acquires(Gathering& all) : all_(all) {}

  template <class T>
  void operator()(const T&) {}

  void operator()(const Ask& ask) {
    if (!number(ask.op, Kind::acquire, all_.line.ops.size())) return;
    const auto index = static_cast<std::uint32_t>(all_.line.ops.size());
    Op& op = all_.line.ops.emplace_back();
    op.process = all_.process;
    op.id = ask.op;
    op.asked = all_.now;
    op.lease = ask.lease;
    op.wait = ask.wait;
    op.first_item = static_cast<std::uint32_t>(all_.line.items.size());
    op.items = static_cast<std::uint32_t>(ask.set.size());
    for (const Wish& wish : ask.set) {
      const std::uint32_t name = all_.name_of(wish.name);
      all_.line.asks_of[name].push_back(
          {index, static_cast<std::uint32_t>(all_.line.items.size())});
      all_.line.items.push_back({name, wish.mode, wish.permits, wish.permits > 0, {}});
    }
  }

  void operator()(const Granted& grant) {
    Op* const op = answered(grant.op, Op::Outcome::granted);
    if (op == nullptr) return;
    if (!grant.floors.empty() && grant.floors.size() != op->items) {
      all_.complaint =
          "op=" + std::to_string(grant.op) + " has another number of floors than of names";
      return;
    }
    op->stamp = grant.stamp;
    op->until = grant.until;
    op->has_floors = !grant.floors.empty();
    for (std::uint32_t i = 0; i < op->items; ++i) {
      all_.line.items[op->first_item + i].floor = op->has_floors ? grant.floors[i] : grant.stamp;
    }
    const auto index = static_cast<std::uint32_t>(op - all_.line.ops.data());
    const auto [at, fresh] = all_.holds.emplace(grant.stamp, index);
    if (!fresh) op->same_stamp = std::exchange(at->second, index);
  }
  void operator()(const Busy& busy) {
    Op* const op = answered(busy.op, Op::Outcome::busy);
    if (op == nullptr) return;
    op->stamp = busy.witness;
    op->name = all_.name_of(busy.name);
  }
  void operator()(const TimedOut& what) { answered(what.op, Op::Outcome::timeout); }
  void operator()(const Unknown& what) { answered(what.op, Op::Outcome::unknown); }
  void operator()(const Refused& what) { answered(what.op, Op::Outcome::refused); }
  void operator()(const Condition& what) {
    const auto op = find(what.op, Kind::acquire);
    const auto since = observation(what.since);
    if (op && since) all_.line.ops[*op].condition = *since;
  }

  void operator()(const Replace& what) {
    if (const auto op = find(what.op, Kind::acquire)) all_.line.ops[*op].replaces = what.stamp;
  }

  void operator()(const Observe& what) {
    if (!number(what.op, Kind::observation, all_.line.observations.size())) return;
    all_.line.observations.push_back({all_.process, what.op, all_.now});
  }
  void operator()(const Observed& what) {
    const auto at = find(what.op, Kind::observation);
    if (!at || !once(what.op, all_.line.observations[*at].returned)) return;
    Observation& seen = all_.line.observations[*at];
    seen.answered = true;
    for (const Saw& each : what.saw) {
      seen.items.push_back({all_.name_of(each.name), each.last_write, each.being_written});
    }
  }
  void operator()(const NotObserved& what) {
    const auto at = find(what.op, Kind::observation);
    if (at) once(what.op, all_.line.observations[*at].returned);
  }

  void operator()(const Validate& what) {
    const auto since = observation(what.since);
    if (!since || !number(what.op, Kind::validation, all_.line.validations.size())) return;
    all_.line.validations.push_back({all_.process, what.op, *since, all_.now});
  }
  void operator()(const Unchanged& what) { validated(what.op, Validation::Answer::unchanged); }
  void operator()(const NotValidated& what) { validated(what.op, Validation::Answer::failed); }
  void operator()(const Changed& what) {
    const auto at = asked_.find(what.op);
    if (at != asked_.end() && at->second.kind == Kind::acquire) {
      const Op* const op = answered(what.op, Op::Outcome::changed);
      if (op != nullptr && op->condition == nobody) {
        all_.complaint = "op=" + std::to_string(what.op) + " has no condition";
      }
      return;
    }
    Validation* const validation = validated(what.op, Validation::Answer::changed);
    if (validation == nullptr) return;
    for (const Saw& each : what.saw) validation->told.push_back(all_.name_of(each.name));
  }

 private:
  enum class Kind : std::uint8_t { acquire, observation, validation };
  struct Asked {
    Kind kind{};
    std::uint32_t index = 0;
  };

  bool number(std::uint64_t id, Kind kind, std::size_t index) {
    if (asked_.emplace(id, Asked{kind, static_cast<std::uint32_t>(index)}).second) return true;
    all_.complaint = "op=" + std::to_string(id) + " is there twice";
    return false;
  }
  // What has this number, or nothing with a complaint.
  std::optional<std::uint32_t> find(std::uint64_t id, Kind kind) {
    const auto at = asked_.find(id);
    if (at != asked_.end() && at->second.kind == kind) return at->second.index;
    all_.complaint = "op=" + std::to_string(id) + " was never asked";
    return {};
  }
  // The observation that something depends on.
  std::optional<std::uint32_t> observation(std::uint64_t id) {
    const auto at = find(id, Kind::observation);
    if (!at || all_.line.observations[*at].answered) return at;
    all_.complaint = "since=" + std::to_string(id) + " has seen nothing";
    return {};
  }
  // Sets the time of an answer; there is only one.
  bool once(std::uint64_t id, TimePoint& returned) {
    if (returned == TimePoint::max()) {
      returned = all_.now;
      return true;
    }
    all_.complaint = "op=" + std::to_string(id) + " was answered before";
    return false;
  }
  Validation* validated(std::uint64_t id, Validation::Answer answer) {
    const auto at = find(id, Kind::validation);
    if (!at || !once(id, all_.line.validations[*at].returned)) return nullptr;
    all_.line.validations[*at].answer = answer;
    return &all_.line.validations[*at];
  }
  // The op that this event answers, or null with a complaint.
  Op* answered(std::uint64_t id, Op::Outcome outcome) {
    const auto at = find(id, Kind::acquire);
    if (!at) return nullptr;
    Op* const op = &all_.line.ops[*at];
    const bool late_grant = op->outcome == Op::Outcome::unknown && outcome == Op::Outcome::granted;
    if (op->outcome != Op::Outcome::none && !late_grant) {
      all_.complaint = "op=" + std::to_string(id) + " was answered before";
      return nullptr;
    }
    op->outcome = outcome;
    op->returned = all_.now;
    return op;
  }

  Gathering& all_;
  std::unordered_map<std::uint64_t, Asked> asked_;  // by number
};

}  // namespace

Status take_acquires(const History& history, Gathering& all) {
  std::size_t events = 0;
  for (const Log& log : history) events += log.events.size();
  all.holds.reserve(events / 4);  // usually a grant comes with at least three other events
  return walk<Acquires>(history, all);
}

}  // namespace lockset::history
