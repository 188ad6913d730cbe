// The first walk: acquires and their answers.
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
    if (!asked_.emplace(ask.op, all_.line.ops.size()).second) {
      all_.complaint = "op=" + std::to_string(ask.op) + " is there twice";
      return;
    }
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

 private:
  // The op that this event answers, or null with a complaint.
  Op* answered(std::uint64_t id, Op::Outcome outcome) {
    const auto at = asked_.find(id);
    Op* const op = at == asked_.end() ? nullptr : &all_.line.ops[at->second];
    const bool late_grant =
        op != nullptr && op->outcome == Op::Outcome::unknown && outcome == Op::Outcome::granted;
    if (op == nullptr || (op->outcome != Op::Outcome::none && !late_grant)) {
      all_.complaint = "op=" + std::to_string(id) +
                       (op == nullptr ? " was never asked" : " was answered before");
      return nullptr;
    }
    op->outcome = outcome;
    op->returned = all_.now;
    return op;
  }

  Gathering& all_;
  std::unordered_map<std::uint64_t, std::size_t> asked_;  // op number to its index
};

}  // namespace

Status take_acquires(const History& history, Gathering& all) {
  std::size_t events = 0;
  for (const Log& log : history) events += log.events.size();
  all.holds.reserve(events / 4);  // usually a grant comes with at least three other events
  return walk<Acquires>(history, all);
}

}  // namespace lockset::history
